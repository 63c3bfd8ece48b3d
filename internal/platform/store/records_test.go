package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// While binaries may run that do not read records, a decision is written as they read it. Both forms are read alike.
func TestDecisionsAreWrittenForTheOldestBinary(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	_, err := st.Pool().Exec(t.Context(), "update schema_floor set version = 54")
	require.NoError(t, err)
	now := storetest.Epoch

	w := fixture.New(t, st, now)
	written := func(at time.Time) (id string, recorded bool) {
		a := w.Authorization("allow")
		a.DecidedAt = at
		w.Write(store.Decision{Authorization: a})
		require.NoError(t, st.Pool().QueryRow(t.Context(), `select record is not null and assurance is null and explanation is null and response is null
			from authorizations where id = $1`, a.ID).Scan(&recorded))
		trace, err := st.Decisions().Trace(t.Context(), w.Scope, a.ID)
		require.NoError(t, err)
		require.JSONEq(t, "{}", string(trace.Authorization.Assurance))
		require.JSONEq(t, "[]", string(trace.Authorization.Explanation))
		require.Equal(t, string(a.Response), string(trace.Authorization.Response))
		facts, err := st.Decisions().FactsFor(t.Context(), w.Scope, store.Wanted{Subject: w.Subject.ExternalID, IdempotencyKey: *a.IdempotencyKey})
		require.NoError(t, err)
		require.Equal(t, string(a.Response), string(facts.Prior.Response))
		return a.ID, recorded
	}
	_, recorded := written(now)
	require.False(t, recorded, "an older binary may run")

	floor, err := st.Contract(t.Context(), func(int, int) {})
	require.NoError(t, err)
	require.Greater(t, floor, int64(54))
	other, err := store.Open(t.Context(), st.Pool().Config().ConnString(), store.Options{MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(other.Close)
	st = other
	w = fixture.New(t, st, now)
	_, recorded = written(now)
	require.True(t, recorded, "no older binary runs")
}

// A process learns within a minute that older binaries are gone.
func TestTheFloorIsReadAgain(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	_, err := st.Pool().Exec(t.Context(), "update schema_floor set version = 54")
	require.NoError(t, err)
	w := fixture.New(t, st, storetest.Epoch)
	for _, c := range []struct {
		after time.Duration
		raise bool
		want  bool
	}{{0, true, false}, {30 * time.Second, false, false}, {61 * time.Second, false, true}} {
		a := w.Authorization("allow")
		a.DecidedAt = storetest.Epoch.Add(c.after)
		w.Write(store.Decision{Authorization: a})
		var recorded bool
		require.NoError(t, st.Pool().QueryRow(t.Context(), "select record is not null from authorizations where id = $1", a.ID).Scan(&recorded))
		require.Equal(t, c.want, recorded, "after %s", c.after)
		if c.raise {
			_, err := st.Pool().Exec(t.Context(), "update schema_floor set version = 56")
			require.NoError(t, err)
		}
	}
}
