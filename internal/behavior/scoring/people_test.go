package scoring

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// drawn is a person drawn from the background itself, for whom the model is exactly right.
type drawn struct {
	bg     *Background
	rng    *rand.Rand
	offset []float64
}

func drawPerson(bg *Background, seed uint64) *drawn {
	d := &drawn{bg: bg, rng: rand.New(rand.NewPCG(seed, 1))}
	d.offset = d.gauss(bg.b)
	return d
}

func (d *drawn) gauss(cov square) []float64 {
	l := newSquare(cov.n)
	copy(l.data, cov.data)
	l.cholesky()
	z, out := make([]float64, cov.n), make([]float64, cov.n)
	for i := range z {
		z[i] = d.rng.NormFloat64()
		for j := 0; j <= i; j++ {
			out[i] += l.at(i, j) * z[j]
		}
	}
	return out
}

// day is how the person is today; frames of one session share it.
func (d *drawn) day() []float64 { return d.gauss(d.bg.w) }

func (d *drawn) vector(day []float64) features.Vector {
	v := features.NewVector(d.bg.Dim())
	cells := features.Cells(d.bg.Modality)
	for i := range v.N {
		n := features.BinCount(d.rng.IntN(8))
		if n == 0 {
			continue
		}
		m := d.bg.Mu[i] + d.offset[i] + day[i] + math.Sqrt(d.bg.Sig2[i]/n)*d.rng.NormFloat64()
		v.N[i], v.M[i] = n, math.Round(100*math.Min(math.Max(m, cells[i].Min), cells[i].Max))/100
	}
	return v
}

func (d *drawn) frame(day []float64, keys int) features.Frame {
	return features.Frame{Blocks: map[features.Modality]features.Block{
		d.bg.Modality: {Cells: d.vector(day), Events: keys, ActiveMS: float64(keys) * 220},
	}}
}

func (d *drawn) session(frames int, at time.Time) SessionFrames {
	day := d.day()
	s := SessionFrames{AtMS: at.UnixMilli()}
	for range frames {
		s.Frames = append(s.Frames, d.frame(day, 50))
	}
	return s
}

var testStart = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func input(f features.Frame, at time.Time) Input {
	return Input{Frame: f, Ref: "frm_" + at.Format("150405"), Timestamp: at, Duration: 15 * time.Second}
}

func enrolled(m *Model, d *drawn) Templates {
	var sessions []SessionFrames
	for i := range 3 {
		sessions = append(sessions, d.session(3, testStart.AddDate(0, 0, i)))
	}
	ts, _, err := m.Train(sessions, TrainOptions{Device: Desktop})
	if err != nil {
		panic(err)
	}
	return ts
}

// populated is the model of the stated priors as if they had been learned from many people. For people drawn from the priors that is
// exactly right, and claims above likely are possible.
var populated = sync.OnceValue(func() *Model {
	var all []*Background
	for _, bg := range []*Background{priorKeys(), priorPointer()} {
		bg.Card.People = 1000
		if err := bg.Prepare(); err != nil {
			panic(err)
		}
		all = append(all, bg)
	}
	return NewModel(all...)
})
