package scoring

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Card is the model card of a background: who was recorded, under which licence, and the measured results.
type Card struct {
	Data          string `json:"data"`
	Licence       string `json:"licence"`
	NonCommercial bool   `json:"non_commercial"`
	People        int    `json:"people"`
	Frames        int    `json:"frames"`
	// The date of training, RFC 3339.
	Learned string `json:"learned"`
	// The share of the sources' people that training left out.
	HeldBack float64 `json:"held_back,omitempty"`
	// Trained on the deployment's own people.
	Local      bool   `json:"local,omitempty"`
	Population string `json:"population"`
	// Digests of the training files.
	Sources     []Source           `json:"sources,omitempty"`
	Measured    map[string]float64 `json:"measured,omitempty"`
	Limitations []string           `json:"limitations,omitempty"`
}

// Source identifies a file that a background was trained on, so that a measurement can exclude its training data.
type Source struct {
	SHA256 string `json:"sha256"`
}

// Background is the population model of one modality for two-covariance scoring (Brümmer and de Villiers, 2010): a person's offset
// from the population's mean Mu is drawn from N(0, B), and a session's offset from the person's from N(0, W). One event adds the
// variance sig2. All are in the units of the cells.
type Background struct {
	Version       string            `json:"version"`
	Modality      features.Modality `json:"modality"`
	SchemaVersion string            `json:"feature_schema_version"`
	Cells         []string          `json:"cells"`
	Mu            []float64         `json:"mu"`
	// Variance of one event within a frame.
	Sig2 []float64 `json:"sig2"`
	// Number of events that the bin CountFew stands for, by cell.
	Few []float64 `json:"few,omitempty"`
	// Number of events that the bin CountMany stands for, by cell.
	Many []float64 `json:"many,omitempty"`
	// Events of the frames that Many was estimated on; 0 is unknown.
	FrameEvents float64 `json:"frame_events"`
	// Lower triangle of B by rows.
	Between []float64 `json:"b"`
	// Lower triangle of W by rows.
	Within []float64 `json:"w"`
	// Lower triangle of the correlations by rows with which cells of one frame err together, because they count the same events; empty
	// is none.
	Joint []float64 `json:"joint,omitempty"`
	// Share of B added to W for the change from day to day.
	Drift float64 `json:"drift"`
	// The same by cell, instead of Drift.
	DriftCells []float64 `json:"drift_cells,omitempty"`
	// Degrees of freedom of the densities; 0 is Gaussian.
	Tail float64 `json:"tail,omitempty"`
	Card Card    `json:"card"`

	// The matrices B, W + drift * B, and the inverse of B.
	b, w, binv square
	// Joint, with ones in the diagonal.
	joint square
	// Standard deviation of a frame's cell at CountMany events over the whole population.
	sd []float64
}

// ErrBackground is returned for a background that cannot be used for scoring.
var ErrBackground = errors.New("scoring: unusable background")

// ErrSchema is returned for a background of a different feature schema, which an earlier version of the service may have used. It is
// an ErrBackground.
var ErrSchema = fmt.Errorf("%w: different feature schema", ErrBackground)

// ParseBackground decodes a background from the JSON written by Marshal and prepares it for scoring.
func ParseBackground(data []byte) (*Background, error) {
	var b Background
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBackground, err)
	}
	return &b, b.Prepare()
}

// Prepare validates the background and computes the matrices that scoring needs. Call it once on a background built in memory.
func (b *Background) Prepare() error {
	n := len(b.Mu)
	tri := n * (n + 1) / 2
	if n == 0 || len(b.Sig2) != n || len(b.Cells) != n || len(b.Between) != tri || len(b.Within) != tri {
		return fmt.Errorf("%w: lengths disagree", ErrBackground)
	}
	if b.SchemaVersion != features.SchemaVersion {
		return fmt.Errorf("%w: %q, the service has %q", ErrSchema, b.SchemaVersion, features.SchemaVersion)
	}
	if n != features.Dim(b.Modality) {
		return fmt.Errorf("%w: %d cells of %q", ErrBackground, n, b.Modality)
	}
	for i, c := range features.Cells(b.Modality) {
		if b.Cells[i] != c.Name {
			return fmt.Errorf("%w: cell %d is %q, the schema has %q", ErrBackground, i, b.Cells[i], c.Name)
		}
		if !(b.Sig2[i] > 0) || math.IsInf(b.Sig2[i], 0) || math.IsNaN(b.Mu[i]) {
			return fmt.Errorf("%w: cell %q has no variance", ErrBackground, c.Name)
		}
	}
	if !(b.Tail >= 0) || math.IsInf(b.Tail, 0) {
		return fmt.Errorf("%w: tail", ErrBackground)
	}
	if err := b.prepareCounts(); err != nil {
		return err
	}
	b.b, b.w = unpack(b.Between, n), unpack(b.Within, n)
	if err := b.addDrift(); err != nil {
		return err
	}
	if err := b.prepareJoint(); err != nil {
		return err
	}
	work := newSquare(n)
	copy(work.data, b.b.data)
	var ok bool
	if b.binv, ok = work.inverse(); !ok {
		return fmt.Errorf("%w: B is not positive definite", ErrBackground)
	}
	b.sd = make([]float64, n)
	for i := range n {
		b.sd[i] = math.Sqrt(b.b.at(i, i) + b.w.at(i, i) + b.Sig2[i]/features.CountMany)
	}
	return nil
}

// prepareJoint sets the correlations of single events; without any, they are independent.
func (b *Background) prepareJoint() error {
	n := b.Dim()
	if len(b.Joint) == 0 {
		b.joint = newSquare(n)
		for i := range n {
			b.joint.data[i*n+i] = 1
		}
		return nil
	}
	if len(b.Joint) != len(b.Within) {
		return fmt.Errorf("%w: correlations of events", ErrBackground)
	}
	b.joint = unpack(b.Joint, n)
	for i := range n {
		if b.joint.at(i, i) != 1 {
			return fmt.Errorf("%w: cell %q does not correlate with itself", ErrBackground, b.Cells[i])
		}
	}
	work := newSquare(n)
	copy(work.data, b.joint.data)
	if !work.cholesky() {
		return fmt.Errorf("%w: correlations of events are not positive definite", ErrBackground)
	}
	return nil
}

// prepareCounts sets the nominal value of the count bins if the background has not estimated it.
func (b *Background) prepareCounts() error {
	for _, bin := range []struct {
		worth   *[]float64
		nominal float64
	}{{&b.Few, features.CountFew}, {&b.Many, features.CountMany}} {
		if len(*bin.worth) == 0 {
			*bin.worth = slices.Repeat([]float64{bin.nominal}, b.Dim())
		}
		if len(*bin.worth) != b.Dim() || slices.Min(*bin.worth) < 1 {
			return fmt.Errorf("%w: worth of counts", ErrBackground)
		}
	}
	return nil
}

// manyLeast is the smallest count in the bin CountMany.
const manyLeast = 4

// Weigh replaces the binned counts of a block by the number of events that the bins stand for, cell by cell. In frames shorter than
// those of the training data CountMany stands for fewer events, and no count exceeds the events of the block.
func (b *Background) Weigh(block features.Block) features.Vector {
	out := features.NewVector(b.Dim())
	b.weighInto(out, block)
	return out
}

func (b *Background) weighInto(out features.Vector, block features.Block) {
	events := math.Max(float64(block.Events), 1)
	scale := 1.0
	if b.FrameEvents > 0 {
		scale = math.Min(events/b.FrameEvents, 1)
	}
	for i, n := range block.Cells.N {
		switch n {
		case 0:
			continue
		case features.CountFew:
			n = math.Min(b.Few[i], events)
		case features.CountMany:
			n = math.Min(math.Max(b.Many[i]*scale, manyLeast), events)
		}
		out.N[i], out.M[i] = n, block.Cells.M[i]
	}
}

// addDrift adds the change from day to day to W: B scaled by each cell's share, which keeps W a covariance.
func (b *Background) addDrift() error {
	n := b.Dim()
	if len(b.DriftCells) != 0 && (len(b.DriftCells) != n || !(slices.Min(b.DriftCells) >= 0)) {
		return fmt.Errorf("%w: drift by cell", ErrBackground)
	}
	for i := range n {
		for j := range n {
			share := b.Drift
			if len(b.DriftCells) != 0 {
				share = math.Sqrt(b.DriftCells[i] * b.DriftCells[j])
			}
			b.w.data[i*n+j] += share * b.b.at(i, j)
		}
	}
	return nil
}

// Marshal encodes the background as JSON.
func (b *Background) Marshal() ([]byte, error) { return json.Marshal(b) }

// Dim returns the number of cells.
func (b *Background) Dim() int { return len(b.Mu) }

// Pack converts a symmetric matrix in row order to the lower triangle that a Background stores.
func Pack(full []float64, n int) []float64 {
	out := make([]float64, 0, n*(n+1)/2)
	for i := range n {
		out = append(out, full[i*n:i*n+i+1]...)
	}
	return out
}

// Unpack expands the lower triangle that a Background stores to the full matrix in row order.
func Unpack(tri []float64, n int) []float64 { return unpack(tri, n).data }

// Spread returns the variance of a cell between sessions of different people, without the noise of finite counts.
func (b *Background) Spread(cell int) float64 { return b.b.at(cell, cell) + b.w.at(cell, cell) }

// unpack expands a lower triangle to the full symmetric matrix.
func unpack(tri []float64, n int) square {
	s := newSquare(n)
	at := 0
	for i := range n {
		for j := 0; j <= i; j++ {
			s.data[i*n+j], s.data[j*n+i] = tri[at], tri[at]
			at++
		}
	}
	return s
}

// Model is the set of active backgrounds, one per modality. It is immutable and safe for concurrent use.
type Model struct {
	backgrounds map[features.Modality]*Background
}

// NewModel returns a model of prepared backgrounds, at most one per modality.
func NewModel(backgrounds ...*Background) *Model {
	m := &Model{backgrounds: map[features.Modality]*Background{}}
	for _, b := range backgrounds {
		m.backgrounds[b.Modality] = b
	}
	return m
}

// defaultModel assembles the stated priors once. It panics if one is unusable, which any test would reveal.
var defaultModel = sync.OnceValue(func() *Model {
	all := []*Background{priorKeys(), priorPointer()}
	for _, b := range all {
		if err := b.Prepare(); err != nil {
			panic("scoring: stated prior: " + err.Error())
		}
	}
	return NewModel(all...)
})

// Default returns the model of the embedded backgrounds. Their cards state the permitted uses.
func Default() *Model { return defaultModel() }

// Background returns the background of a modality; nil if the model has none.
func (m *Model) Background(mod features.Modality) *Background { return m.backgrounds[mod] }

// ordered returns the backgrounds in the order of the schema.
func (m *Model) ordered() []*Background {
	out := make([]*Background, 0, len(m.backgrounds))
	for _, mod := range features.Modalities() {
		if b := m.backgrounds[mod]; b != nil {
			out = append(out, b)
		}
	}
	return out
}

// Version names the active backgrounds. Every profile contains it.
func (m *Model) Version() string {
	active := m.ordered()
	names := make([]string, len(active))
	for i, b := range active {
		names[i] = b.Version
	}
	return strings.Join(names, "+")
}

// Cards returns the cards of the active backgrounds, in the order of the schema.
func (m *Model) Cards() []Card {
	var out []Card
	for _, b := range m.ordered() {
		out = append(out, b.Card)
	}
	return out
}
