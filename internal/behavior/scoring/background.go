package scoring

import (
	_ "embed" // default backgrounds
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

//go:embed backgrounds/keystroke.json
var keystrokeBackground []byte

//go:embed backgrounds/pointer.json
var pointerBackground []byte

// Card says where a background comes from, as a model card: who was recorded, under what licence, with what result.
type Card struct {
	Data          string             `json:"data"`
	Licence       string             `json:"licence"`
	NonCommercial bool               `json:"non_commercial"`
	People        int                `json:"people"`
	Frames        int                `json:"frames"`
	Learned       string             `json:"learned"`             // date, RFC 3339
	HeldBack      float64            `json:"held_back,omitempty"` // share of the people of the sources it was not learned from
	Local         bool               `json:"local,omitempty"`     // learned from the deployment's own people
	Population    string             `json:"population"`
	Sources       []Source           `json:"sources,omitempty"` // digests of the files learned from
	Measured      map[string]float64 `json:"measured,omitempty"`
	Limitations   []string           `json:"limitations,omitempty"`
}

// Source identifies one file a background was learned from, so that a measurement can tell its training data.
type Source struct {
	SHA256 string `json:"sha256"`
}

// Background is the population model of one modality.
type Background struct {
	Version       string            `json:"version"`
	Modality      features.Modality `json:"modality"`
	SchemaVersion string            `json:"feature_schema_version"`
	Cells         []string          `json:"cells"`
	Mu            []float64         `json:"mu"`
	Sig2          []float64         `json:"sig2"`                  // variance of one event within a frame
	Few           []float64         `json:"few,omitempty"`         // events the bin CountFew is worth, by cell
	Many          []float64         `json:"many,omitempty"`        // events the bin CountMany is worth, by cell
	FrameEvents   float64           `json:"frame_events"`          // events of the frames Many was learned on; 0 is unknown
	Between       []float64         `json:"b"`                     // lower triangle of B by rows
	Within        []float64         `json:"w"`                     // lower triangle of W by rows
	Drift         float64           `json:"drift"`                 // share of B added to W for the change from day to day
	DriftCells    []float64         `json:"drift_cells,omitempty"` // the same by cell, in place of Drift
	Tail          float64           `json:"tail,omitempty"`        // degrees of freedom of the densities; 0 is Gaussian
	Card          Card              `json:"card"`

	b, w, binv square    // B, W + drift B, B^-1
	sd         []float64 // deviation of a frame's cell at CountMany events over the whole population
}

// ErrBackground is returned for a background that cannot be used.
var ErrBackground = errors.New("scoring: unusable background")

// ParseBackground reads a background in the JSON form written by Marshal and prepares it for scoring.
func ParseBackground(data []byte) (*Background, error) {
	var b Background
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBackground, err)
	}
	return &b, b.Prepare()
}

// Prepare checks the background and derives what scoring needs. It must be called once on a background built by hand.
func (b *Background) Prepare() error {
	n := len(b.Mu)
	tri := n * (n + 1) / 2
	if n == 0 || len(b.Sig2) != n || len(b.Cells) != n || len(b.Between) != tri || len(b.Within) != tri {
		return fmt.Errorf("%w: lengths disagree", ErrBackground)
	}
	if b.SchemaVersion != features.SchemaVersion || n != features.Dim(b.Modality) {
		return fmt.Errorf("%w: schema %q, %d cells of %q", ErrBackground, b.SchemaVersion, n, b.Modality)
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

// prepareCounts fills in the nominal worth of the bins where the background has not learned it.
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

// manyLeast is the smallest count the bin CountMany stands for.
const manyLeast = 4

// Weigh replaces the binned counts of a frame's block by what the bins are worth in events, cell by cell. A frame
// shorter than those the worth was learned on gets less for CountMany, and no count is worth more than the whole block.
func (b *Background) Weigh(block features.Block) features.Vector {
	out := features.NewVector(b.Dim())
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
	return out
}

// addDrift adds the change from day to day to W: B scaled by each cell's share, which keeps it a covariance.
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

// Marshal writes the background as JSON.
func (b *Background) Marshal() ([]byte, error) { return json.Marshal(b) }

// Dim is the number of cells.
func (b *Background) Dim() int { return len(b.Mu) }

// Pack turns a symmetric matrix in row order into the lower triangle a Background stores.
func Pack(full []float64, n int) []float64 {
	out := make([]float64, 0, n*(n+1)/2)
	for i := range n {
		out = append(out, full[i*n:i*n+i+1]...)
	}
	return out
}

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

// Model is the set of backgrounds in force, by modality, with the rules.
type Model struct {
	backgrounds map[features.Modality]*Background
}

// NewModel makes a model of prepared backgrounds, one a modality.
func NewModel(backgrounds ...*Background) *Model {
	m := &Model{backgrounds: map[features.Modality]*Background{}}
	for _, b := range backgrounds {
		m.backgrounds[b.Modality] = b
	}
	return m
}

var defaultModel = sync.OnceValue(func() *Model {
	var all []*Background
	for _, data := range [][]byte{keystrokeBackground, pointerBackground} {
		b, err := ParseBackground(data)
		if err != nil {
			panic("scoring: embedded background: " + err.Error())
		}
		all = append(all, b)
	}
	return NewModel(all...)
})

// Default is the model of the embedded backgrounds. Their cards say what they may be used for.
func Default() *Model { return defaultModel() }

// Background returns the background of a modality, nil where the model has none.
func (m *Model) Background(mod features.Modality) *Background { return m.backgrounds[mod] }

// ordered are the backgrounds in schema order.
func (m *Model) ordered() []*Background {
	var out []*Background
	for _, mod := range features.Modalities() {
		if b := m.backgrounds[mod]; b != nil {
			out = append(out, b)
		}
	}
	return out
}

// Version names the backgrounds in force; every profile is stamped with it.
func (m *Model) Version() string {
	var names []string
	for _, b := range m.ordered() {
		names = append(names, b.Version)
	}
	return strings.Join(names, "+")
}

// Cards returns the model cards of the backgrounds in force, in schema order.
func (m *Model) Cards() []Card {
	var out []Card
	for _, b := range m.ordered() {
		out = append(out, b.Card)
	}
	return out
}
