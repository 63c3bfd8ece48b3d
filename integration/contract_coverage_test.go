package integration_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shownFile names, for each operation and each error code, a test that got it from the running service. docs/contract.md is
// made from it. A whole run of the tests holds it true; with COUNTERSIGN_TEST_SHOWN=write it writes it anew.
const (
	shownFile = "testdata/shown.json"
	shownEnv  = "COUNTERSIGN_TEST_SHOWN"
)

type shownTests struct {
	Operations map[string]string `json:"operations"` // operation to a test that it answered well
	Codes      map[string]string `json:"codes"`      // error code to a test that wanted it
}

// recorded are all tests, by what they were answered.
var recorded = struct {
	sync.Mutex
	operations, codes map[string]map[string]bool
}{operations: map[string]map[string]bool{}, codes: map[string]map[string]bool{}}

func record(in map[string]map[string]bool, what string, t testing.TB) {
	test, _, _ := strings.Cut(t.Name(), "/")
	recorded.Lock()
	defer recorded.Unlock()
	if in[what] == nil {
		in[what] = map[string]bool{}
	}
	in[what][test] = true
}

// checkShown holds the file against what was recorded, after a run of all tests.
func checkShown() error {
	if f := flag.Lookup("test.run"); f != nil && f.Value.String() != "" || testing.Short() {
		return nil
	}
	kept := shownTests{Operations: map[string]string{}, Codes: map[string]string{}}
	if raw, err := os.ReadFile(shownFile); err == nil {
		if err := json.Unmarshal(raw, &kept); err != nil {
			return err
		}
	}
	if os.Getenv(shownEnv) == "write" {
		choose(kept.Operations, recorded.operations)
		choose(kept.Codes, recorded.codes)
		raw, err := json.MarshalIndent(kept, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(shownFile, append(raw, '\n'), 0o600)
	}
	for _, pair := range []struct {
		file map[string]string
		seen map[string]map[string]bool
	}{{kept.Operations, recorded.operations}, {kept.Codes, recorded.codes}} {
		for what, test := range pair.file {
			if !pair.seen[what][test] {
				return fmt.Errorf("%s says that %s shows %s, which it does not: run the tests with %s=write", shownFile, test, what, shownEnv)
			}
		}
	}
	return nil
}

// choose keeps what is still true and takes the first test, by name, for what is new.
func choose(kept map[string]string, seen map[string]map[string]bool) {
	for what, test := range kept {
		if !seen[what][test] {
			delete(kept, what)
		}
	}
	for what, tests := range seen {
		if kept[what] == "" {
			kept[what] = preferred(slices.Sorted(maps.Keys(tests)))
		}
	}
}

// preferred leaves out the walks over all routes where a test of its own is there: they show that a route answers and not
// what for.
func preferred(tests []string) string {
	for _, t := range tests {
		if !strings.HasPrefix(t, "TestEveryRoute") && !strings.HasSuffix(t, "Edges") && t != "TestFuzz" {
			return t
		}
	}
	return tests[0]
}
