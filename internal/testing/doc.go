// Package testing is the room of what only tests import: databases and Temporal servers for tests (testenv), rows that
// many tests begin with (fixture) and the checks every store has to pass (storetest).
//
// It may import any room but bench. Only files named _test.go may import it.
package testing
