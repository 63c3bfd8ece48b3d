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

// coverageFile names, for each operation and each error code, a test that received it from the running service.
// make reports lists them. A full run of the tests checks it, or writes it if COUNTERSIGN_TEST_SHOWN=write.
const (
	coverageFile = "testdata/shown.json"
	coverageEnv  = "COUNTERSIGN_TEST_SHOWN"
)

type coverage struct {
	Operations map[string]string `json:"operations"` // operation to a test that called it successfully
	Codes      map[string]string `json:"codes"`      // error code to a test that required it
}

// recorded maps operations and error codes to the tests that received them.
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

// checkCoverage compares the file with what was recorded, after a run of all tests.
func checkCoverage() error {
	if f := flag.Lookup("test.run"); f != nil && f.Value.String() != "" || testing.Short() {
		return nil
	}
	kept := coverage{Operations: map[string]string{}, Codes: map[string]string{}}
	if raw, err := os.ReadFile(coverageFile); err == nil {
		if err := json.Unmarshal(raw, &kept); err != nil {
			return err
		}
	}
	if os.Getenv(coverageEnv) == "write" {
		choose(kept.Operations, recorded.operations)
		choose(kept.Codes, recorded.codes)
		raw, err := json.MarshalIndent(kept, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(coverageFile, append(raw, '\n'), 0o600)
	}
	for _, pair := range []struct {
		file map[string]string
		seen map[string]map[string]bool
	}{{kept.Operations, recorded.operations}, {kept.Codes, recorded.codes}} {
		for what, test := range pair.file {
			if !pair.seen[what][test] {
				return fmt.Errorf("%s: %s does not cover %s: run the tests with %s=write", coverageFile, test, what, coverageEnv)
			}
		}
	}
	return nil
}

// choose keeps the tests that still apply and adds the first test, by name, for what is new.
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

// preferred avoids the tests that request every route, if there is another: they show that a route responds, not what it does.
func preferred(tests []string) string {
	for _, t := range tests {
		if !strings.HasPrefix(t, "TestEveryRoute") && !strings.HasSuffix(t, "Edges") && t != "TestFuzz" {
			return t
		}
	}
	return tests[0]
}
