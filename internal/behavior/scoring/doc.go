// Package scoring computes an assurance profile from validated feature frames: whether the operator is the enrolled person, how
// certain that is, on how much evidence and how fresh, and whether the operator is a person at all.
//
// It is pure: it may not read a clock, draw a random number, do I/O or keep anything between calls. The session's State and the
// subject's Templates are values that the caller stores, and the time is an argument.
//
// The scorer is a two-covariance Gaussian log-likelihood ratio. A background model describes how people differ from each other (B),
// how one person's sessions differ (W), and the variance of one event (sig2). With r the residual of a window of n events and
// N(a, C) the posterior of the person,
//
//	LLR = log p(r; a, C + W + sig2/n) - log p(r; 0, B + W + sig2/n)
//
// in natural logarithms: positive if the person explains the window better than the population. Evidence is merged over a window
// and scored once. A long window is needed to confirm; the last chunk alone can revoke. docs/accuracy.md has the measured rates.
package scoring
