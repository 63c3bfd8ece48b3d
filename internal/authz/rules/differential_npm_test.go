package rules_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

// Generated conditions have the same results here and with @bufbuild/cel, an implementation of CEL in JavaScript that shares no
// code with cel-go. Of our own functions, subject.decisions() is registered there as a lookup of the same counts, and decimal()
// is left out: both sides would be ours. The test requires Node and `npm ci` in testdata/npm.
func TestConditionsAgreeWithTheBufNPMPackage(t *testing.T) {
	t.Parallel()
	const conditions, decisions = 1000, 12
	dir := filepath.Join("testdata", "npm")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@bufbuild", "cel")); err != nil {
		t.Skip("npm ci has not been run in internal/authz/rules/testdata/npm")
	}
	g := &generator{Rand: rand.New(rand.NewPCG(17, 1))}
	made, typed := make([]rules.Vars, decisions), make([]map[string]any, decisions)
	for i := range made {
		made[i], typed[i] = g.decision()
	}
	var list []string
	var sets []*rules.Set
	for len(list) < conditions {
		when := g.bool(1 + len(list)%4)
		set, faults := rules.Compile([]policy.Rule{rule(when)}, schema(t, generatedSchema))
		if len(faults) == 1 && strings.HasPrefix(faults[0].Why, "this condition could cost") {
			continue
		}
		require.Empty(t, faults, when)
		list, sets = append(list, when), append(sets, set)
	}
	theirs, seen := evaluateThere(t, dir, typed, list), map[string]int{}
	for i, when := range list {
		for j, v := range made {
			ours := evaluateHere(t, sets[i], v)
			require.Equal(t, theirs[i][j], ours, "%s\nwith %s", when, v.Context)
			seen[ours]++
		}
	}
	for _, result := range []string{"true", "false", "error"} {
		require.Greater(t, seen[result], conditions*decisions/20, "too few conditions are %s to compare: %v", result, seen)
	}
}

// evaluateHere returns true, false or error.
func evaluateHere(t *testing.T, set *rules.Set, v rules.Vars) string {
	found := set.Match(t.Context(), v)
	switch {
	case len(found) == 0:
		return "false"
	case found[0].Failed:
		return "error"
	default:
		return "true"
	}
}

// evaluateThere returns for each condition its results with each of the variables.
func evaluateThere(t *testing.T, dir string, typed []map[string]any, conditions []string) [][]string {
	var input bytes.Buffer
	lines := json.NewEncoder(&input)
	require.NoError(t, lines.Encode(typed))
	for _, when := range conditions {
		require.NoError(t, lines.Encode(when))
	}
	cmd := exec.CommandContext(t.Context(), "node", "evaluate.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, &input, os.Stderr
	cmd.Env = append(os.Environ(), "TZ=UTC") // the package reckons in the local zone, where hours may be skipped
	output, err := cmd.Output()
	require.NoError(t, err)
	out := make([][]string, 0, len(conditions))
	for scanner := bufio.NewScanner(bytes.NewReader(output)); scanner.Scan(); {
		var results []string
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &results))
		out = append(out, results)
	}
	require.Len(t, out, len(conditions))
	return out
}
