// Package scoring turns checked feature frames into an assurance profile: is this the enrolled person, how sure, on how
// much evidence, how fresh, and is it a person at all.
//
// It is pure. It may not read a clock, draw a random number, do I/O or keep anything between calls: the session's
// running State and the subject's Templates are values the caller stores, and now is an argument.
//
// The scorer is a two-covariance Gaussian log-likelihood ratio: a background model says how people differ from each
// other (B), how one person's frames differ from another (W) and how much one event varies (sig2). Evidence is merged
// over a window and scored once; a long window confirms, the last chunk alone revokes.
package scoring
