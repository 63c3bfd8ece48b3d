package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startCluster starts two members of each service, and one of the internal worker's, by name.
func startCluster(t *testing.T, mainDB, visibilityDB string) map[string]*process {
	t.Helper()
	members, ready := map[string]*process{}, map[string]string{}
	for name, service := range map[string]string{
		"frontend1": "frontend", "frontend2": "frontend", "history1": "history", "history2": "history",
		"matching1": "matching", "matching2": "matching", "worker1": "worker",
	} {
		ready[name] = filepath.Join(t.TempDir(), name+".json")
		members[name] = launch(t, mainDB, visibilityDB, append(kindAttribute, "--services", service, "--ready-file", ready[name])...)
	}
	for name, p := range members {
		require.Eventually(t, func() bool {
			select {
			case <-p.exited:
				return true
			default:
			}
			text, err := os.ReadFile(ready[name])
			return err == nil && json.Unmarshal(text, &p.endpoints) == nil
		}, 2*patience, 50*time.Millisecond, name)
		require.Equal(t, "still running", p.String(), name)
	}
	return members
}

// A cluster survives the loss of one process of each service. Not in parallel with others: its seven processes are enough for a machine.
func TestDevstack_ClusterSurvivesTheLossOfOneOfEach(t *testing.T) {
	mainDB, visibilityDB := freshNames(t)
	members := startCluster(t, mainDB, visibilityDB)
	f := dial(t, members["frontend2"])
	for _, lost := range []string{"history1", "matching2", "frontend1"} {
		require.NoError(t, members[lost].cmd.Process.Kill())
		<-members[lost].exited
		require.Eventually(t, func() bool {
			_, err := f.workflow.StartWorkflowExecution(t.Context(), startRequest("without-"+lost))
			return err == nil
		}, patience, 50*time.Millisecond, lost)
		found(t, f, "without-"+lost)
	}
	single := launch(t, mainDB, visibilityDB)
	code, says := single.wait(t)
	require.Equal(t, 1, code)
	require.Contains(t, says, "another devstack is running")
}

func TestOptions_Services(t *testing.T) {
	t.Parallel()
	for list, says := range map[string]string{
		"frontend":         "",
		"history,matching": "",
		"history,history":  "given once",
		"postgres":         "a service is one of frontend, history, matching, worker",
		"":                 "a service is one of",
	} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			o, err := parseOptions([]string{"--database-url", "postgres://x@y/z", "--services", list}, os.Getenv, os.Stderr)
			if says != "" {
				require.ErrorContains(t, err, says)
				return
			}
			require.NoError(t, err)
			require.True(t, o.isMember())
		})
	}
}
