package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
)

// work runs a worker of a build until the test ends.
func (c cli) work(build string) {
	c.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(c.t.Context()))
	ended := make(chan error, 1)
	cmd := root()
	cmd.SetArgs([]string{"worker", "--worker-build", build, "--ops-listen", freeAddress(c.t), "--log-level", "error"})
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	c.t.Cleanup(func() {
		stop()
		require.NoError(c.t, <-ended)
	})
}

// eventually repeats a command until it succeeds: Temporal learns of a build when its worker polls.
func (c cli) eventually(args ...string) string {
	c.t.Helper()
	var out string
	var last error
	defer func() {
		if last != nil {
			c.t.Logf("the last error of %v: %v", args, last)
		}
	}()
	require.Eventually(c.t, func() bool {
		out, last = c.run(args...)
		return last == nil
	}, 4*time.Minute, 200*time.Millisecond, "%v", args)
	return out
}

func TestRolloutOfAWorker(t *testing.T) {
	c := newCLI(t, testenv.Database(t))
	address, namespace := temporaltest.Namespace(t)
	t.Setenv("COUNTERSIGN_TEMPORAL_ADDRESS", address)
	t.Setenv("COUNTERSIGN_TEMPORAL_NAMESPACE", namespace)
	c.fails("COUNTERSIGN_WORKER_DEPLOYMENT is not set", "rollout", "status")
	t.Setenv("COUNTERSIGN_WORKER_DEPLOYMENT", "countersign")
	c.fails("start one with COUNTERSIGN_WORKER_DEPLOYMENT set", "rollout", "status")
	c.fails("want a number from 0 to 100", "rollout", "ramp", "1.1.0", "150")

	c.work("1.0.0")
	require.Contains(t, c.eventually("rollout", "current", "1.0.0"), "1.0.0 is current\ncurrent: 1.0.0\nBUILD")
	c.fails("no worker of this build takes tasks", "rollout", "ramp", "1.1.0", "10")
	c.work("1.1.0")
	out := c.eventually("rollout", "ramp", "1.1.0", "12.5")
	require.Contains(t, out, "1.1.0 receives 12.5 % of the tasks")
	require.Contains(t, out, "ramping: 1.1.0, 12.5 %")
	require.Regexp(t, `1\.1\.0 +ramping +\S+Z +\d+ +0`, out)
	require.Contains(t, c.eventually("rollout", "current", "1.1.0"), "current: 1.1.0")
	require.Contains(t, c.eventually("rollout", "rollback", "1.1.0"), "1.1.0 receives no tasks any more, 1.0.0 does\ncurrent: 1.0.0")
	require.True(t, strings.HasPrefix(c.eventually("rollout", "release", "1.1.0"), "0 workflow runs move with their next task"))
}

func TestSettingsOfABuild(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ deployment, build, want, says string }{
		"off":                       {},
		"the version of the binary": {deployment: "countersign", says: `COUNTERSIGN_WORKER_BUILD is ""`},
		"given":                     {deployment: "countersign", build: "1.2.0-3-gabc", want: "1.2.0-3-gabc"},
		"a build of no deployment":  {build: "1.2.0", says: "COUNTERSIGN_WORKER_DEPLOYMENT is not set, but COUNTERSIGN_WORKER_BUILD is"},
		"a dot in a deployment":     {deployment: "bank.example", says: `COUNTERSIGN_WORKER_DEPLOYMENT is "bank.example": want`},
		"a name of Temporal itself": {deployment: "countersign", build: "__unversioned__", says: `COUNTERSIGN_WORKER_BUILD is "__unversioned__": want`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w workerSettings
			w.options.Deployment, w.options.Build = x.deployment, x.build
			err := w.check()
			if x.says != "" {
				require.ErrorContains(t, err, x.says)
				require.ErrorIs(t, err, errUsage)
				return
			}
			require.NoError(t, err)
			require.Equal(t, x.want, w.options.Build)
		})
	}
}
