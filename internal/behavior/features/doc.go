// Package features defines the content-free feature schema, validates frames of it, and extracts frames from raw input events.
//
// The extraction is a second implementation of the browser collector (sdk/js): both pass testdata/golden_extraction.json. It lets
// recordings, demonstrations and tests use the same formulas as a browser.
//
// A cell is the mean of one value over the events of a class, for example the log hold time of keys of the left index finger. Times
// are in milliseconds, logarithms are natural, and keystroke times are residuals: the population's mean for that key or key pair is
// subtracted, so that a cell describes the person and not the text. docs/features.md lists every formula with unit and range.
//
// The package may not store, log or return raw input: Extract and Read return counts, means and scalars of timing. It has no clock,
// no randomness and does no I/O.
package features
