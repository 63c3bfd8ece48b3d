package main

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkStartWorkflow measures durable workflow starts with 32 callers at once.
func BenchmarkStartWorkflow(b *testing.B) {
	mainDB, visibilityDB := freshNames(b)
	f := dial(b, start(b, mainDB, visibilityDB, kindAttribute...))
	var n atomic.Int64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, err := f.workflow.StartWorkflowExecution(b.Context(), startRequest(fmt.Sprintf("w%d", n.Add(1))))
			require.NoError(b, err)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "starts/s")
}
