package scoring

import (
	"math"

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
// covariances can only be through damaged input. It processes four rows at a time, which is twice as fast as one by one because the
// common operand is read once.
func (s square) cholesky() bool {
	const together = 4
	for i := 0; i < s.n; i += together {
		end, done := min(i+together, s.n), 0
		if end-i == together {
			s.solveFour(i)
			done = i
		}
		for k := i; k < end; k++ {
			if !s.solveRow(k, done) {
				return false
			}
		}
	}
	return true
}

// solveFour computes columns 0 to i-1 of L in the rows i to i+3, which depend only on earlier rows.
func (s square) solveFour(i int) {
	a, b, c, d := s.row(i), s.row(i+1), s.row(i+2), s.row(i+3)
	for j := range i {
		l := s.row(j)
		da, db, dc, dd := dotFour(a, b, c, d, l[:j])
		a[j] = (a[j] - da) / l[j]
		b[j] = (b[j] - db) / l[j]
		c[j] = (c[j] - dc) / l[j]
		d[j] = (d[j] - dd) / l[j]
	}
}

// dotFour returns the dot products of four vectors with x in one pass.
func dotFour(a, b, c, d, x []float64) (da, db, dc, dd float64) {
	a, b, c, d = a[:len(x)], b[:len(x)], c[:len(x)], d[:len(x)]
	for k, v := range x {
		da += a[k] * v
		db += b[k] * v
		dc += c[k] * v
		dd += d[k] * v
	}
	return da, db, dc, dd
}

// solveRow computes the columns of row i of L, beginning with column done.
func (s square) solveRow(i, done int) bool {
	ri := s.row(i)
	for j := done; j < i; j++ {
		rj := s.row(j)
		ri[j] = (ri[j] - floats.Dot(ri[:j], rj[:j])) / rj[j]
	}
	d := ri[i] - floats.Dot(ri[:i], ri[:i])
	if !(d > 0) || math.IsInf(d, 1) {
		return false
	}
	ri[i] = math.Sqrt(d)
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
// freedom, or Gaussian if tail is 0. It overwrites both arguments.
func (s square) logDensity(r []float64, tail float64) (float64, bool) {
	if !s.cholesky() {
		return 0, false
	}
	s.forward(r)
	logDet := 0.0
	for i := range s.n {
		logDet += math.Log(s.at(i, i))
	}
	d := floats.Dot(r, r)
	if tail > 0 {
		return -.5*(tail+float64(s.n))*math.Log1p(d/tail) - logDet, true
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
