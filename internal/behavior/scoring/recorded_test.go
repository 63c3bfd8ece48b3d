package scoring

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// typedPassages returns n passages of a person with about so many keys each.
func typedPassages(d *drawn, n, keys int) Passages {
	var out Passages
	day := d.day()
	for range n {
		out = appendPassage(out, d.bg, newFingerprint(d.bg, d.vector(day)), keys*(75+d.rng.IntN(50))/100)
	}
	return out
}

// replayed returns n passages cut from the known ones, beginning anywhere: each is put together from two neighbors, and its cells
// differ from theirs by up to noise codes. Some cells are absent.
func replayed(known Passages, n int, noise float64, rng *rand.Rand) Passages {
	var out Passages
	from, share := rng.IntN(known.Len()-n), rng.Float64()*float64(rng.IntN(2))
	for i := from; i < from+n; i++ {
		out = append(out, known[i*passageSize])
		for k, b := range known.codes(i) {
			code, next := int8(b), int8(known.codes(i + 1)[k])
			if code == absent || rng.IntN(10) == 0 {
				out = append(out, none)
				continue
			}
			mean := float64(code)
			if next != absent {
				mean += share * (float64(next) - mean)
			}
			mean += noise * rng.NormFloat64()
			out = append(out, byte(int8(math.Round(min(max(mean, codeLeast), math.MaxInt8)))))
		}
	}
	return out
}

func TestCopiesAreFoundAsByThePlainComparison(t *testing.T) {
	t.Parallel()
	bg := populated().Background(features.Keystroke)
	found := map[bool]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		person, keys := drawPerson(bg, seed), 25+rng.IntN(40)
		known := typedPassages(person, 8+rng.IntN(200), keys)
		for range 20 {
			n := 1 + rng.IntN(recutPassages)
			p := replayed(known, n, 12*rng.Float64()*rng.Float64(), rng)
			if rng.IntN(3) == 0 {
				p = typedPassages(person, n, keys)
			}
			all := append(append(Passages(nil), known...), p[:(n-1)*passageSize]...) // its earlier passages are known already
			want := p.plainRecorded(bg, all)
			found[want]++
			require.Equal(t, want, p.recorded(bg, all), "seed %d", seed)
			requireSameRatios(t, bg, p, all)
		}
	}
	require.Greater(t, found[true], 200)
	require.Greater(t, found[false], 200)
}

// requireSameRatios compares each ratio with the plain one: bit by bit for one passage, against limits around it for several.
func requireSameRatios(t *testing.T, bg *Background, p, known Passages) {
	t.Helper()
	one, plain := p.newest(1, bg, known), plainNewest(1, bg, p, known)
	defer one.release()
	one.tabulate()
	for i := range known.Len() {
		require.Equal(t, plain.ratio(known, i, i+1), one.ratioOne(known.codes(i)))
	}
	n := p.Len()
	all, plain := p.newest(n, bg, known), plainNewest(n, bg, p, known)
	defer all.release()
	all.add(known, 0, known.Len())
	for from := range known.Len() {
		to, _ := known.run(from, all.keys)
		ratio := plain.ratio(known, from, to)
		for _, limit := range []float32{ratio - .001, ratio, ratio + .001, recordedLLR, recutLLR} {
			limit = max(limit, earlyLeast) // a comparison that ended early is below any limit
			require.Equal(t, ratio > limit, all.exceeds(all.row(from), all.row(to), limit))
		}
	}
}

func TestAReleasedQueryIsWiped(t *testing.T) {
	t.Parallel()
	bg := populated().Background(features.Keystroke)
	known := typedPassages(drawPerson(bg, 1), 50, 40)
	q := known.newest(1, bg, known)
	q.tabulate()
	code, gains, sums := q.code, q.gains, q.sums
	require.NotZero(t, gains[0])
	q.release()
	require.Equal(t, make([]float32, len(code)), code)
	require.Equal(t, make([]codeSum, len(sums)), sums)
	for _, g := range gains {
		require.Zero(t, g)
	}
}

func TestGainsFall(t *testing.T) {
	t.Parallel()
	for i := range recordedGain[1:] {
		require.Less(t, recordedGain[i+1], recordedGain[i])
	}
}

func TestCodesAreAddedUpExactly(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		sum, want, count := codeSum(0), 0, 0
		for range 1 + rng.IntN(1024) {
			b := byte(rng.IntN(1 << 8))
			sum += codeSums[b]
			if int8(b) != absent {
				want += int(int8(b))
				count++
			}
		}
		require.Equal(t, count, sum.count())
		if count > 0 {
			require.Equal(t, float32(want)/float32(count), sum.mean())
		}
	}
}
