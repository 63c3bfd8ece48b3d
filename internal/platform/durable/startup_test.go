package durable_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/durable"
)

func TestStartupReportsItsStepUntilItHasFinished(t *testing.T) {
	t.Parallel()
	s := durable.NewStartup()
	require.EqualError(t, s.Err(), "the workflow engine is starting")
	s.Report("building, 62 %")
	require.EqualError(t, s.Err(), "the workflow engine is starting: building, 62 %")
	select {
	case <-s.Started():
		t.Fatal("it has not finished")
	default:
	}
	s.Finish()
	s.Finish()
	<-s.Started()
	require.NoError(t, s.Err())
}

func TestEngineThatRunsElsewhereCountsAsStarted(t *testing.T) {
	t.Parallel()
	var s *durable.Startup
	require.NoError(t, s.Err())
	require.Nil(t, s.Started())
}
