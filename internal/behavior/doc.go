// Package behavior is the room of what turns timing into a judgement: derived features (features), the scorer that compares
// them with templates (scoring), and seeded people and attackers for tests and the /try page (synthetic).
//
// It may import the standard library, numeric libraries and its own packages. It may not import any other room, read a
// clock, draw unseeded random numbers or do I/O: the same input gives the same judgement, which is what makes a decision
// explainable years later.
package behavior
