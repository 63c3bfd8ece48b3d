package main

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
)

func TestCollectorTablesMatchService(t *testing.T) {
	t.Parallel()
	want, err := constants()
	require.NoError(t, err)
	have, err := os.ReadFile("../src/features/tables.ts")
	require.NoError(t, err)
	require.Equal(t, string(want), string(have), "run go generate ./sdk/js/gen and commit the result")
}

// Packing must not change a number: the page would compute other features than the service.
func TestTablesAreWholeThousandths(t *testing.T) {
	t.Parallel()
	var tables features.Tables
	require.NoError(t, json.Unmarshal(features.CollectorTables(), &tables))
	exact := func(v float64) { require.Equal(t, v, math.Round(v*1000)/1000) }
	for _, v := range tables.Hold {
		exact(v)
	}
	for _, table := range []map[string][2]float64{tables.Digraph, tables.FingerPair} {
		for _, v := range table {
			exact(v[0])
			exact(v[1])
		}
	}
}
