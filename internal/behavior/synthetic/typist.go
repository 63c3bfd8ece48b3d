package synthetic

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

// Typist is a generated person who types, drawn from all families of cells of the stated prior.
type Typist struct {
	rng *rand.Rand
	// How the person differs from the population, by keystroke cell.
	offset []float64
	today  habits
	at     float64 // ms
}

// NewTypist draws a person from the stated prior.
func NewTypist(seed uint64) *Typist {
	t := &Typist{rng: rand.New(rand.NewPCG(seed, 0x7e57))}
	bg := scoring.Default().Background(features.Keystroke)
	t.offset = draw(t.rng, bg.Between, bg.Dim())
	t.NewDay()
	return t
}

// NewDay changes how the person types today, like a session on another day.
func (t *Typist) NewDay() {
	t.today = newHabits(t.rng, t.offset)
	t.at = 1000
}

// Elsewhere returns the person on the same day with other single times, drawn from source: two who watch the same person type see
// different frames, as of a real one. Equal frames in one environment are taken for a replay.
func (t *Typist) Elsewhere(source uint64) *Typist {
	out := *t
	out.rng = rand.New(rand.NewPCG(source, 0x7e57))
	return &out
}

// Towards returns the person after drifting by share (0 to 1) towards another's typing: a slow attack on a template that adapts.
// The days of the result are its own.
func (t *Typist) Towards(other *Typist, share float64) *Typist {
	out := &Typist{rng: t.rng, offset: make([]float64, len(t.offset))}
	for i := range out.offset {
		out.offset[i] = t.offset[i] + share*(other.offset[i]-t.offset[i])
	}
	out.NewDay()
	return out
}

// draw samples N(0, S) for a covariance S given as lower triangle.
func draw(rng *rand.Rand, triangle []float64, n int) []float64 {
	sym := mat.NewSymDense(n, nil)
	at := 0
	for i := range n {
		for j := 0; j <= i; j++ {
			sym.SetSym(i, j, triangle[at])
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

// word returns the keys of a random word, now and then with a capital, a corrected error or a mark.
func (t *Typist) word() []string {
	var out []string
	word := words[t.rng.IntN(len(words))]
	// A word has some six keys, and an error starts a run of corrections.
	capital, run := 6*t.today.rate("sh:all", .008), min(t.today.rate("bsrun:c", 0), .8)
	mistake := t.today.rate("bs:all", .004) * (1 - run)
	for i, c := range word {
		if i == 0 && t.rng.Float64() < capital {
			out = append(out, t.shift())
		}
		if t.rng.Float64() < mistake {
			out = append(out, t.mistake(run)...)
		}
		out = append(out, string(c))
	}
	if t.rng.Float64() < .1 {
		out = append(out, []string{"period", "comma"}[t.rng.IntN(2)])
	}
	return append(out, "space")
}

// shift returns the key that the person uses for a capital: people use one of the two.
func (t *Typist) shift() string {
	if t.today.rate("caps:c", 0) > .5 {
		return "capslock"
	}
	return "shift"
}

// mistake returns wrong letters and as many corrections.
func (t *Typist) mistake(run float64) []string {
	wrong := 1
	for wrong < 6 && t.rng.Float64() < run {
		wrong++
	}
	var out []string
	for range wrong {
		out = append(out, string('a'+rune(t.rng.IntN(26)))) // #nosec G115 -- below 26
	}
	for range wrong {
		out = append(out, "backspace")
	}
	return out
}

// Keys types the named keys and returns the presses.
func (t *Typist) Keys(names []string) []features.KeyEvent {
	out := make([]features.KeyEvent, len(names))
	for i, name := range names {
		next := 180.0
		mean, sd := t.today.holdOf(name)
		if i+1 < len(names) {
			next = t.interval(name, names[i+1])
			mean += t.today.tiltOf(name, names[i+1])
		}
		hold := math.Exp(mean + sd*t.rng.NormFloat64())
		out[i] = features.KeyEvent{Key: name, Press: math.Round(t.at), Release: math.Round(t.at + hold)}
		t.at += next
	}
	return out
}

// interval draws a press-press time in ms: log-normal with a tail to the right, as people's are, with occasional pauses.
func (t *Typist) interval(a, b string) float64 {
	mean, sd := t.today.pressOf(a, b)
	ms := math.Exp(mean + sd*(.74*t.rng.NormFloat64()+skew*(t.rng.ExpFloat64()-1)))
	if t.rng.Float64() < .3*t.today.rate("pause10:all", .002) {
		ms += 400 + 1500*t.rng.ExpFloat64()
	}
	return math.Max(ms, 15)
}

// Frame types about n keys and extracts the frame that a collector would send.
func (t *Typist) Frame(n int) features.Frame {
	return features.Extract(features.Raw{Keys: t.Type(n), ClockMS: 1})
}
