// Package training learns the background model that the scorer compares people with: how people differ from each other, how
// one person's frames differ, and how much one event varies. Learning is deterministic: the same samples in the same
// order give the same numbers. It does no I/O.
package training
