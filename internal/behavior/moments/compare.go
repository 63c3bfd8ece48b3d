package moments

import (
	"fmt"
	"math"
	"slices"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// ComparePeople is the least number of people that backgrounds are compared on.
const ComparePeople = 10

// How backgrounds are compared.
const (
	// Each person is tested with a background that was formed without their part of the people.
	comparedParts = 5
	// The most people of a comparison and the most strangers that each is tested against; both bound the cost.
	comparedMost      = 60
	comparedStrangers = 15
	// By how much the equal error rate may be higher, or by one session of those compared if that is more: less cannot be measured.
	errorSlack = .005
	// The rate of confirmed strangers that is accepted of any background: one that confirms no one cannot be matched.
	confirmedSlack = .005
)

// Rates are the errors of a background on people it was not learned from.
type Rates struct {
	// Equal error rate, with one threshold for all people.
	EER float64 `json:"eer"`
	// Share of strangers that would be confirmed.
	FalseConfirmed float64 `json:"false_confirmed"`
}

// Comparison is the background in force and a new one, on the same sessions. It has counts and rates only, nothing of a person.
type Comparison struct {
	People    int   `json:"people"`
	Genuine   int   `json:"genuine"`
	Strangers int   `json:"strangers"`
	Before    Rates `json:"before"`
	After     Rates `json:"after"`
}

// Worse reports whether the new background must not replace the one in force.
func (c Comparison) Worse() bool {
	slack := math.Max(errorSlack, 1/float64(max(c.Genuine, 1)))
	return c.After.EER > c.Before.EER+slack || c.After.FalseConfirmed > math.Max(c.Before.FalseConfirmed, confirmedSlack)
}

// Compare measures the background of the sums and a given one, before, on people whose shares are in the sums. A person is tested with a
// background without a fifth of the people, the person among them: their shares are subtracted. Before must not have been learned from any
// of them. It returns ErrTooFew for fewer than ten people.
func (s *Sums) Compare(ref, before *scoring.Background, people [][]features.Vector) (Comparison, error) {
	people = people[:min(len(people), comparedMost)]
	if len(people) < ComparePeople {
		return Comparison{}, fmt.Errorf("%w: %d of %d to compare with", ErrTooFew, len(people), ComparePeople)
	}
	var was, is trials
	for part := range comparedParts {
		without, err := s.without(ref, people, part)
		if err != nil {
			return Comparison{}, err
		}
		for i := part; i < len(people); i += comparedParts {
			for _, m := range []struct {
				bg *scoring.Background
				to *trials
			}{{before, &was}, {without, &is}} {
				if err := m.to.add(m.bg, people, i); err != nil {
					return Comparison{}, err
				}
			}
		}
	}
	return Comparison{People: len(people), Genuine: len(is.genuine), Strangers: len(is.strangers), Before: was.rates(), After: is.rates()}, nil
}

// without forms the background of the sums less a part of the people.
func (s *Sums) without(ref *scoring.Background, people [][]features.Vector, part int) (*scoring.Background, error) {
	rest := newSums(ref)
	if err := rest.Add(*s); err != nil {
		return nil, err
	}
	for i := part; i < len(people); i += comparedParts {
		share, ok := Share(ref, people[i])
		if !ok {
			continue
		}
		if err := rest.Subtract(share); err != nil {
			return nil, err
		}
	}
	return rest.mixed(ref, "held back")
}

// trials are the ratios of sessions against their own person and against others.
type trials struct {
	genuine, strangers []float64
	confirmed          int
}

// add tests person i: each of the first and last sessions against the others of the person, and the last sessions of the next people.
func (t *trials) add(bg *scoring.Background, people [][]features.Vector, i int) error {
	own := people[i]
	last := len(own) - 1
	if last < 1 {
		return nil
	}
	genuine, err := bg.Ratios(own[1:], own[:1])
	if err != nil {
		return err
	}
	probes := []features.Vector{own[last]}
	for k := 1; k <= comparedStrangers && k < len(people); k++ {
		other := people[(i+k)%len(people)]
		probes = append(probes, other[len(other)-1])
	}
	ratios, err := bg.Ratios(own[:last], probes)
	if err != nil {
		return err
	}
	t.genuine = append(t.genuine, genuine[0], ratios[0])
	t.strangers = append(t.strangers, ratios[1:]...)
	for _, r := range ratios[1:] {
		if bg.Confirms(r) {
			t.confirmed++
		}
	}
	return nil
}

func (t *trials) rates() Rates {
	slices.Sort(t.genuine)
	slices.Sort(t.strangers)
	best := Rates{EER: 1}
	gap := math.Inf(1)
	for _, limit := range t.strangers {
		below, _ := slices.BinarySearch(t.genuine, limit)
		at, _ := slices.BinarySearch(t.strangers, limit)
		miss := float64(below) / float64(len(t.genuine))
		match := 1 - float64(at)/float64(len(t.strangers))
		if d := math.Abs(miss - match); d < gap {
			gap, best.EER = d, (miss+match)/2
		}
	}
	best.FalseConfirmed = float64(t.confirmed) / float64(max(len(t.strangers), 1))
	return best
}
