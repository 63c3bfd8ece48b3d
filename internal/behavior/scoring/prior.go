package scoring

import (
	"math"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// The stated prior: what is assumed about people before any of them enrolled. Its numbers are stated with their reasons and rounded,
// not estimated from recordings, so anyone may use it. docs/accuracy.md shows how well they describe recorded people.
const (
	// PriorVersion is the version of the prior of a modality without its suffix.
	PriorVersion = "cs-bg-0"
	// priorWithin is the variance between two frames of one sitting as a share of that between people: a small one, because hands and
	// keyboard stay the same.
	priorWithin = .05
	// priorIndependent is the share of it that cells do not have in common.
	priorIndependent = .2
	// priorTail is the degrees of freedom of the densities: near a Gaussian, with room for unusual days.
	priorTail = 100
)

// stated has the assumptions about one cell: the population's mean, the variance of one event, how many events the count bins stand for,
// and how people differ.
type stated struct {
	name      string
	mean      float64
	event     float64
	few, many float64
	// Standard deviation between people that the cell shares with no other.
	own float64
	// Name of the cell whose own deviation this cell follows, and by how much.
	follows string
	slope   float64
	// Standard deviation between people that the cell shares with others, by cause: people who are fast are so in every class.
	shared map[string]float64
	// Name of the events that the cell is counted from, and the share of its noise that all cells counted from them have in common.
	events string
	common float64
	// Variance between frames of one sitting as a share of that between people; 0 is priorWithin.
	day float64
	// Share of the variance between people that is allowed for the change from day to day.
	drift float64
}

// priorOf assembles a background from what is stated of each cell of a modality, in the order of the schema.
func priorOf(mod features.Modality, cells []stated, frameEvents float64, card Card) *Background {
	n := features.Dim(mod)
	bg := &Background{Version: PriorVersion + "-" + string(mod), Modality: mod, SchemaVersion: features.SchemaVersion, FrameEvents: frameEvents,
		Tail: priorTail, Card: card}
	between := make([]float64, n*n)
	at := map[string]int{}
	for i, c := range cells {
		at[c.name] = i
	}
	for i, c := range cells {
		bg.Cells = append(bg.Cells, c.name)
		bg.Mu, bg.Sig2 = append(bg.Mu, decimals(c.mean)), append(bg.Sig2, decimals(c.event))
		bg.Few, bg.Many = append(bg.Few, c.few), append(bg.Many, c.many)
		bg.DriftCells = append(bg.DriftCells, c.drift)
		between[i*n+i] += c.own * c.own
		for j, other := range cells {
			for cause, sd := range c.shared {
				between[i*n+j] += sd * other.shared[cause]
			}
		}
		if k, ok := at[c.follows]; ok {
			v := cells[k].own * cells[k].own
			between[i*n+k] += c.slope * v
			between[k*n+i] += c.slope * v
			between[i*n+i] += c.slope * c.slope * v
		}
	}
	within := make([]float64, n*n)
	for i := range n {
		for j := range n {
			within[i*n+j] = math.Sqrt(cells[i].sitting()*cells[j].sitting()) * (1 - priorIndependent) * between[i*n+j]
		}
		within[i*n+i] = cells[i].sitting() * between[i*n+i]
	}
	bg.Between, bg.Within, bg.Joint = Pack(between, n), Pack(within, n), Pack(jointly(cells), n)
	return bg
}

// jointly returns the correlations of the noise of cells: of those that count the same events. What cells have in common is one cause, so
// that the correlations agree with each other.
func jointly(cells []stated) []float64 {
	n := len(cells)
	out := make([]float64, n*n)
	for i, c := range cells {
		for j, other := range cells {
			if c.events == other.events {
				out[i*n+j] = decimals(math.Sqrt(c.common * other.common))
			}
		}
		out[i*n+i] = 1
	}
	return out
}

// sitting returns the variance between frames of one sitting as a share of that between people.
func (s stated) sitting() float64 {
	if s.day > 0 {
		return s.day
	}
	return priorWithin
}

// decimals rounds to four decimals: nothing stated is known better.
func decimals(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// expected returns the mean of f over a normal distribution, by the trapezoidal rule over four standard deviations.
func expected(mean, sd float64, f func(float64) float64) float64 {
	sum, weights := 0.0, 0.0
	for z := -4.0; z <= 4; z += .25 {
		w := math.Exp(-z * z / 2)
		sum += w * f(mean+sd*z)
		weights += w
	}
	return sum / weights
}
