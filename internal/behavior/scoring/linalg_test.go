package scoring

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

// plainCholesky is the textbook factorisation.
func plainCholesky(s square) {
	for i := range s.n {
		for j := range i + 1 {
			sum := s.at(i, j)
			for k := range j {
				sum -= s.at(i, k) * s.at(j, k)
			}
			if i == j {
				s.data[i*s.n+j] = math.Sqrt(sum)
			} else {
				s.data[i*s.n+j] = sum / s.at(j, j)
			}
		}
	}
}

// covariances returns the covariance of n cells of the background with random noise of finite counts.
func covariances(bg *Background, n int, rng *rand.Rand) square {
	s := newSquare(n)
	cells := rng.Perm(bg.Dim())[:n]
	for i, a := range cells {
		for j, b := range cells {
			s.data[i*n+j] = bg.w.at(a, b) + bg.b.at(a, b)
		}
		s.data[i*n+i] += bg.Sig2[a] / (1 + 50*rng.Float64())
	}
	return s
}

func TestDensitiesAreThoseOfThePlainFactorisation(t *testing.T) {
	t.Parallel()
	bg, rng := populated().Background(features.Keystroke), rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= bg.Dim(); n += 1 + rng.IntN(5) {
		a := covariances(bg, n, rng)
		plain, factor, augmented := newSquare(n), newSquare(n), newSquare(n+1)
		copy(plain.data, a.data)
		copy(factor.data, a.data)
		r := make([]float64, n)
		for i := range n {
			copy(augmented.row(i), a.row(i))
			r[i] = 3 * rng.NormFloat64()
		}
		copy(augmented.row(n), r)
		plainCholesky(plain)
		require.True(t, factor.cholesky())
		plain.forward(r)
		want := 0.0
		for i := range n {
			require.InDeltaSlice(t, plain.row(i)[:i+1], factor.row(i)[:i+1], 1e-9)
			want -= math.Log(plain.at(i, i)) + r[i]*r[i]/2
		}
		got, ok := augmented.logDensity(0)
		require.True(t, ok)
		require.InDelta(t, want, got, 1e-9*math.Max(1, math.Abs(want)), "%d cells", n)
	}
}

func TestMatricesThatAreNotPositiveDefiniteHaveNoFactor(t *testing.T) {
	t.Parallel()
	for _, data := range [][]float64{{1, 0, 2, 1}, {0, 0, 0, 1}, {1, 0, 0, math.NaN()}, {1, 0, 0, math.Inf(1)}, {-1, 0, 0, 1}} {
		require.False(t, square{2, data}.cholesky(), "%v", data)
	}
}
