// Package features defines the content-free feature schema of the service, reads and checks frames of it, and
// extracts such frames from raw input events.
//
// Extraction is the twin of the browser collector: both pass testdata/golden_extraction.json. It exists so that
// recordings, demonstrations and tests go through the very formulas a browser uses.
//
// The package may not keep, log or return raw input: what leaves Extract* and Parse is counts, means and scalars of
// timing. It has no clock, no randomness and does no I/O.
package features
