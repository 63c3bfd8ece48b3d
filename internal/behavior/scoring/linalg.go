package scoring

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// square is a dense symmetric n x n matrix in row order.
type square struct {
	n    int
	data []float64
}

// newSquare returns the n x n zero matrix.
func newSquare(n int) square { return square{n: n, data: make([]float64, n*n)} }

// at returns the element of row i and column j.
func (s square) at(i, j int) float64 { return s.data[i*s.n+j] }
func (s square) row(i int) []float64 { return s.data[i*s.n : (i+1)*s.n] }

// reshape returns an n x n matrix that reuses the memory of s if it is large enough. Its content is undefined.
func (s square) reshape(n int) square {
	if cap(s.data) < n*n {
		return newSquare(n)
	}
	return square{n: n, data: s.data[:n*n]}
}

// triangle is the lower triangle of a symmetric matrix, row after row without gaps, in the precision of storage.
type triangle []float32

// newTriangle returns the zero triangle of n rows.
func newTriangle(n int) triangle { return make(triangle, triangleSize(n)) }

// triangleSize is the number of elements of a triangle of n rows.
func triangleSize(n int) int { return n * (n + 1) / 2 }

// row returns row i, which has i+1 elements.
func (t triangle) row(i int) []float32 { return t[i*(i+1)/2 : (i+1)*(i+2)/2] }

// cholesky replaces the lower triangle by L with A = L L'. It returns false if A is not positive definite, which a sum of
// covariances can only be through damaged input.
func (s square) cholesky() bool { return s.factor(s.n) }

// factor computes the first columns of L, in all rows. Each column is one product of a matrix and a vector, for which the library has
// vector instructions.
func (s square) factor(columns int) bool {
	for j := range columns {
		rj := s.row(j)
		d := rj[j] - floats.Dot(rj[:j], rj[:j])
		if !(d > 0) || math.IsInf(d, 1) {
			return false
		}
		d = math.Sqrt(d)
		rj[j] = d
		rows := s.n - j - 1
		if rows == 0 {
			break
		}
		below := s.data[(j+1)*s.n:]
		column := blas64.Vector{N: rows, Inc: s.n, Data: below[j:]}
		blas64.Gemv(blas.NoTrans, -1, blas64.General{Rows: rows, Cols: j, Stride: s.n, Data: below}, blas64.Vector{N: j, Inc: 1, Data: rj}, 1, column)
		blas64.Scal(1/d, column)
	}
	return true
}

// forward solves L z = r in place for the lower triangle L (forward substitution).
func (s square) forward(r []float64) {
	for i := range s.n {
		ri := s.row(i)
		r[i] = (r[i] - floats.Dot(ri[:i], r[:i])) / ri[i]
	}
}

// logDensity returns the log density of r about 0 with scale matrix A, without its constant: Student's t with tail degrees of
// freedom, or Gaussian if tail is 0. The matrix is A with r below it as its last row, which becomes L^-1 r as a row of L. It is
// overwritten.
func (s square) logDensity(tail float64) (float64, bool) {
	n := s.n - 1
	if !s.factor(n) {
		return 0, false
	}
	logDet := 0.0
	for i := range n {
		logDet += math.Log(s.at(i, i))
	}
	r := s.row(n)[:n]
	d := floats.Dot(r, r)
	if tail > 0 {
		return -.5*(tail+float64(n))*math.Log1p(d/tail) - logDet, true
	}
	return -.5*d - logDet, true
}

// inverse returns the inverse of a positive definite matrix; false if it is not.
func (s square) inverse() (square, bool) {
	if !s.cholesky() {
		return square{}, false
	}
	// Row k of lt is column k of L^-1, so that the product below runs over contiguous memory.
	lt := newSquare(s.n)
	for k := range s.n {
		col := lt.row(k)
		col[k] = 1 / s.at(k, k)
		for i := k + 1; i < s.n; i++ {
			col[i] = -floats.Dot(s.row(i)[k:i], col[k:i]) / s.at(i, i)
		}
	}
	out := newSquare(s.n)
	for i := range s.n {
		for j := 0; j <= i; j++ {
			v := floats.Dot(lt.row(i)[i:], lt.row(j)[i:])
			out.data[i*s.n+j], out.data[j*s.n+i] = v, v
		}
	}
	return out, true
}
