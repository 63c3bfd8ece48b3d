package integration_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/testing/faultproxy"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/temporaltest"
	"github.com/countersign-dev/countersign/workflows"
)

// readiness is the body of /readyz.
type readiness struct {
	Ready    bool
	Checks   map[string]string
	Degraded []string
	status   int
}

func readyz(t *testing.T, p *wiring.Process) readiness {
	t.Helper()
	res := httptest.NewRecorder()
	p.Ops.Mux.ServeHTTP(res, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	r := readiness{status: res.Code}
	require.NoError(t, json.Unmarshal(res.Body.Bytes(), &r))
	require.Equal(t, r.status == http.StatusOK, r.Ready)
	return r
}

// lost reports whether the process is ready, the check is degraded, and a sentence of what cannot be done begins with the text.
func (r readiness) lost(check, sentence string) bool {
	return r.status == http.StatusOK && r.Checks[check] == "degraded" && strings.Contains(strings.Join(r.Degraded, "\n"), sentence)
}

func TestReadyzSaysWhatCannotBeDone(t *testing.T) {
	t.Parallel()
	database := testenv.Database(t)
	address, namespace := temporaltest.Namespace(t)
	temporal, err := faultproxy.New(address)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	p, w := separateService(t, database, temporal.Address(), namespace)
	worker, err := wiring.New(open(t, wiring.Settings{Log: shared.log, DatabaseURL: database, Keys: shared.keys, MaxConns: 4}),
		wiring.Options{Temporal: workflows.DialOptions{Address: temporal.Address(), Namespace: namespace}, OnlyWorks: true})
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, readyz(t, worker).status, "it takes no tasks yet")
	stop := worker.StartWorker(context.WithoutCancel(t.Context()), make(chan error, 1))
	t.Cleanup(func() { stop(); worker.Close() })
	everyPart := func() bool { return len(readyz(t, p).Degraded) == 0 && readyz(t, worker).status == http.StatusOK }
	eventually(t, everyPart, "everything works")

	temporal.Set(faultproxy.Cut)
	eventually(t, func() bool { return readyz(t, p).lost("temporal", "Challenges, holds, enrollments and webhooks wait") }, "the API serves the rest")
	eventually(t, func() bool {
		r := readyz(t, worker)
		return r.status == http.StatusServiceUnavailable && r.Checks["worker"] == "unavailable"
	}, "a worker without tasks does nothing")
	temporal.Set(faultproxy.Passing)
	eventually(t, everyPart, "Temporal is back")

	change := func(statement string) {
		_, err := p.Store.Pool().Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	change("alter table write_probes add constraint no_space check (id < 0) not valid") // stands for a disk without space
	eventually(t, func() bool { return readyz(t, p).lost("writes", "Nothing is recorded") }, "the database takes no writes")
	w.Server.get(t, "/api/v1/credential").is(200)
	change("alter table write_probes drop constraint no_space")
	eventually(t, everyPart, "the database takes writes again")
}
