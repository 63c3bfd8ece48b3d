// Package simulate makes up people who type and move a pointer, and programs that pretend to, for demonstrations and
// tests where no recordings are. Everything is seeded: the same seed gives the same events. It has no clock and does no
// I/O, and nobody's data is in it; people are drawn from the embedded background model.
package synthetic
