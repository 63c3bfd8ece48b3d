// Package policytest decides given requests under a policy that is written in a file, by the code that decides in the service, and
// compares the decisions with the expected ones. docs/policy-tests.md describes the file.
//
// It reads no database and no clock: everything that a decision depends on is in the file.
package policytest
