package scoring

import (
	"math"
	"strings"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// Scatter: how much the means of classes of keys differ from one frame to the next, compared with how much single times vary within a
// frame. What a program knows of a person are averages over few keys. Its noise around them scatters its frames a second time, which
// neither the averages nor the spreads show.
const (
	// Keys that must have been compared with what was typed before them.
	scatterLeast = 200
	// Keys over which the scatter is collected; older ones count less and less.
	scatterKeys = 300
	// Mean log ratio of the two variances above which a program is suspected: people's frames differ less than single times vary.
	scatterImitation = 0
	// Most deviations of one event by which a cell counts, so that a single cell cannot decide.
	scatterCap = 3
)

// scatterWeights are the weights of times from press to press and of holds: there are more classes of the former.
var scatterWeights = [2]float64{2. / 3, 1. / 3}

// scatterScalars are the deviations within a frame, by family.
var scatterScalars = [2]string{"sd_lpp", "sd_lhold"}

// scatter collects the scatter of a session, by family.
type scatter struct {
	Keys float64 `json:"keys,omitempty"`
	// Squared differences of cells to what was typed before, in variances of one event.
	Between [2]float64 `json:"between"`
	Cells   [2]float64 `json:"cells"`
	// Deviations within frames, times keys.
	Within [2]float64 `json:"within"`
}

// scatterFamilies are the families of the cells, -1 for others.
var scatterFamilies = func() []int {
	var out []int
	for _, c := range features.Cells(features.Keystroke) {
		kind, _, _ := strings.Cut(c.Name, ":")
		switch kind {
		case "p":
			out = append(out, 0)
		case "h":
			out = append(out, 1)
		default:
			out = append(out, -1)
		}
	}
	return out
}()

// observe returns the scatter after a frame with the weighed cells v. before has the cells typed before it, merged. The receiver is
// not modified.
func (s scatter) observe(bg *Background, before, v features.Vector, f features.Frame) scatter {
	if len(before.N) == 0 {
		return s
	}
	var within [2]float64
	for family, name := range scatterScalars {
		var ok bool
		if within[family], ok = f.Presence.Get(name); !ok {
			return s
		}
	}
	keys := float64(f.Keys())
	for i, family := range scatterFamilies {
		if family < 0 || !(v.N[i] > 0) || !(before.N[i] > 0) {
			continue
		}
		d := v.M[i] - before.M[i]
		s.Between[family] += math.Min(d*d/(1/v.N[i]+1/before.N[i]), scatterCap*scatterCap*bg.Sig2[i])
		s.Cells[family]++
	}
	s.Keys += keys
	for family, sd := range within {
		s.Within[family] += sd * keys
	}
	return s.fade()
}

// fade lets older keys count less.
func (s scatter) fade() scatter {
	share := scatterKeys / s.Keys
	if share >= 1 {
		return s
	}
	s.Keys = scatterKeys
	for family := range scatterWeights {
		s.Between[family] *= share
		s.Cells[family] *= share
		s.Within[family] *= share
	}
	return s
}

// imitates reports whether the frames scatter as those of a program that adds noise to someone's averages do.
func (s scatter) imitates() bool {
	if s.Keys < scatterLeast {
		return false
	}
	ratio := 0.0
	for family, weight := range scatterWeights {
		sd := s.Within[family] / s.Keys
		if !(s.Between[family] > 0) || !(sd > 0) {
			return false
		}
		ratio += weight * (math.Log(s.Between[family]/s.Cells[family]) - 2*math.Log(sd))
	}
	return ratio > scatterImitation
}

// pack lists the fields of the scatter.
func (s *scatter) pack(p *packer) {
	p.double(&s.Keys)
	for family := range scatterWeights {
		p.double(&s.Between[family])
		p.double(&s.Cells[family])
		p.double(&s.Within[family])
	}
}
