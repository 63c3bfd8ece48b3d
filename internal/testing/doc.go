// Package testing is the room of the packages that only tests import: databases and Temporal servers (testenv), a world of
// rows to decide about (fixture), connections to cut (faultproxy), and a store with the rows that most tests begin with (storetest).
//
// It may import any room. Only files named _test.go may import it.
package testing
