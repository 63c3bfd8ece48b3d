// Package synthetic generates people who type and move a pointer, and programs that imitate them, for demonstrations and tests
// without recordings. People are drawn from the embedded background model, so they contain no individual's data.
//
// Everything is seeded: the same seed yields the same events. The package has no clock and does no I/O. Its results may not be
// reported as accuracy: synthetic people are drawn from the model that scores them.
package synthetic
