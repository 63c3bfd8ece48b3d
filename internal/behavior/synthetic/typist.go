package synthetic

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// Typist is a generated person who types.
type Typist struct {
	rng *rand.Rand
	// How the person differs from the population, by keystroke cell.
	offset []float64
	// How today differs from the person's usual.
	today []float64
	// Share of words with a correction.
	errors float64
	at     float64 // ms
}

// NewTypist draws a person from the embedded background.
func NewTypist(seed uint64) *Typist {
	t := &Typist{rng: rand.New(rand.NewPCG(seed, 0x7e57))}
	bg := scoring.Default().Background(features.Keystroke)
	t.offset = draw(t.rng, bg.Between, bg.Dim(), 1)
	t.errors = .02 + .1*t.rng.Float64()
	t.NewDay()
	return t
}

// NewDay changes how the person types today, like a session on another day.
func (t *Typist) NewDay() {
	bg := scoring.Default().Background(features.Keystroke)
	within := draw(t.rng, bg.Within, bg.Dim(), 1)
	drift := draw(t.rng, bg.Between, bg.Dim(), bg.Drift)
	t.today = make([]float64, bg.Dim())
	for i := range t.today {
		t.today[i] = within[i] + drift[i]
	}
	t.at = 1000
}

// Towards returns the person after drifting by share (0 to 1) towards another's typing: a slow attack on a template that adapts.
// The days and errors of the result are its own.
func (t *Typist) Towards(other *Typist, share float64) *Typist {
	out := &Typist{rng: t.rng, offset: make([]float64, len(t.offset)), errors: t.errors + share*(other.errors-t.errors)}
	for i := range out.offset {
		out.offset[i] = t.offset[i] + share*(other.offset[i]-t.offset[i])
	}
	out.NewDay()
	return out
}

// draw samples N(0, scale * S) for a covariance S given as lower triangle.
func draw(rng *rand.Rand, triangle []float64, n int, scale float64) []float64 {
	sym := mat.NewSymDense(n, nil)
	at := 0
	for i := range n {
		for j := 0; j <= i; j++ {
			sym.SetSym(i, j, scale*triangle[at])
			at++
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(sym) {
		return make([]float64, n)
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	z := mat.NewVecDense(n, nil)
	for i := range n {
		z.SetVec(i, rng.NormFloat64())
	}
	var out mat.VecDense
	out.MulVec(&lower, z)
	return out.RawVector().Data
}

// words are the vocabulary of the generated sentences.
var words = []string{"the", "quick", "transfer", "of", "ten", "thousand", "will", "be", "sent", "today", "please", "confirm",
	"that", "account", "number", "and", "name", "are", "right", "before", "you", "go", "on", "with", "this", "payment",
	"thank", "your", "for", "being", "careful", "about", "what", "we", "ask", "here", "it", "is", "just", "last", "question"}

// Type types at least n keys of generated sentences and returns the presses. Times continue from the last call.
func (t *Typist) Type(n int) []features.KeyEvent {
	var names []string
	for len(names) < n {
		names = append(names, t.word()...)
	}
	return t.Keys(names)
}

// word returns the keys of a random word, now and then with a corrected error.
func (t *Typist) word() []string {
	var out []string
	word := words[t.rng.IntN(len(words))]
	for i, c := range word {
		if i == 0 && t.rng.Float64() < .12 {
			out = append(out, "shift")
		}
		if t.rng.Float64() < t.errors/5 {
			out = append(out, string('a'+rune(t.rng.IntN(26))), "backspace") // #nosec G115 -- below 26
		}
		out = append(out, string(c))
	}
	if t.rng.Float64() < .1 {
		out = append(out, []string{"period", "comma"}[t.rng.IntN(2)])
	}
	return append(out, "space")
}

// Keys types the named keys and returns the presses.
func (t *Typist) Keys(names []string) []features.KeyEvent {
	out := make([]features.KeyEvent, len(names))
	for i, name := range names {
		hold := t.hold(name)
		out[i] = features.KeyEvent{Key: name, Press: math.Round(t.at), Release: math.Round(t.at + hold)}
		if i+1 < len(names) {
			t.at += t.interval(name, names[i+1])
		} else {
			t.at += 180
		}
	}
	return out
}

// cell returns the person's offset of today in one keystroke cell.
func (t *Typist) cell(i int) float64 {
	if i < 0 {
		return 0
	}
	bg := scoring.Default().Background(features.Keystroke)
	return bg.Mu[i] + t.offset[i] + t.today[i]
}

// hold draws the time in ms for which a key is held.
func (t *Typist) hold(name string) float64 {
	mean, _, _ := features.Typical()
	return math.Exp(mean + t.cell(features.CellIndex(features.Keystroke, "h:"+features.KeyGroup(name))) + .2*t.rng.NormFloat64())
}

// interval draws a press-press time in ms: log-normal with a tail to the right, as people's are, with occasional pauses.
func (t *Typist) interval(a, b string) float64 {
	_, mean, _ := features.Typical()
	class := features.TransitionClass(a, b)
	z := .24*t.rng.NormFloat64() + .22*(t.rng.ExpFloat64()-1)
	ms := math.Exp(mean + t.cell(features.CellIndex(features.Keystroke, "p:"+class)) + z)
	if t.rng.Float64() < .015 {
		ms += 400 + 1500*t.rng.ExpFloat64()
	}
	return math.Max(ms, 15)
}

// Frame types about n keys and extracts the frame that a collector would send.
func (t *Typist) Frame(n int) features.Frame {
	return features.Extract(features.Raw{Keys: t.Type(n), ClockMS: 1})
}
