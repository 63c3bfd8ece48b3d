// Package policytest decides given requests under a policy that is written in a file, by the code that decides in the service, and
// compares the decisions with the expected ones. docs/trying-policies.md describes the file.
//
// A file is checked completely before its first case is decided: a case whose input has no effect would pass for the wrong reason.
// The size of a file, its nesting and the number of its cases are bounded, because it may come from a customer.
//
// It reads no database and no clock: everything that a decision depends on is in the file.
package policytest
