// Package behavior groups the packages that turn the timing of input into claims about the operator: derived features (features),
// the scorer that compares them with templates (scoring), and seeded people and attackers for tests and the /try page (synthetic).
//
// It may import the standard library, numeric libraries and its own packages. It may not import any other room, read a clock,
// draw unseeded random numbers or do I/O: the same input always yields the same claims, so a decision can be explained years
// later.
package behavior
