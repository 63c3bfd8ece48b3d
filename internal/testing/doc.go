// Package testing is the room of the packages that only tests import: databases and Temporal servers (testenv), a world of
// rows to decide about (fixture), and a store with the rows that most tests begin with (storetest).
//
// It may import any room but bench. Only files named _test.go may import it.
package testing
