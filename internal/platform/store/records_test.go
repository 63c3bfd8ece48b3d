package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/ids"
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
	written := func(at time.Time) (recorded, digested bool) {
		a := w.Authorization("allow")
		a.DecidedAt = at
		for _, d := range []*string{&a.ResourceDigest, &a.ContextDigest, &a.ActionHash, &a.PolicyHash} {
			*d = canonical.DigestBytes([]byte(ids.New(ids.Authorization)))
		}
		w.Write(store.Decision{Authorization: a})
		require.NoError(t, st.Pool().QueryRow(t.Context(), `select record is not null and assurance is null and explanation is null and response is null,
			digests is not null and resource_digest is null and context_digest is null and action_hash is null and policy_hash is null
			from authorizations where id = $1`, a.ID).Scan(&recorded, &digested))
		trace, err := st.Decisions().Trace(t.Context(), w.Scope, a.ID)
		require.NoError(t, err)
		require.JSONEq(t, "{}", string(trace.Authorization.Assurance))
		require.JSONEq(t, "[]", string(trace.Authorization.Explanation))
		require.Equal(t, string(a.Response), string(trace.Authorization.Response))
		facts, err := st.Decisions().FactsFor(t.Context(), w.Scope, store.Wanted{Subject: w.Subject.ExternalID, IdempotencyKey: *a.IdempotencyKey})
		require.NoError(t, err)
		require.Equal(t, string(a.Response), string(facts.Prior.Response))
		require.Equal(t, []string{a.ResourceDigest, a.ContextDigest, a.ActionHash, a.PolicyHash}, []string{trace.Authorization.ResourceDigest,
			trace.Authorization.ContextDigest, trace.Authorization.ActionHash, trace.Authorization.PolicyHash})
		replayed, err := st.Decisions().ReplayablesByID(t.Context(), w.Scope, []string{a.ID})
		require.NoError(t, err)
		require.Equal(t, a.ContextDigest, replayed[0].ContextDigest)
		return recorded, digested
	}
	recorded, digested := written(now)
	require.False(t, recorded || digested, "a binary older than both may run")
	_, err = st.Pool().Exec(t.Context(), "update schema_floor set version = 64")
	require.NoError(t, err)
	recorded, digested = written(now.Add(61 * time.Second))
	require.True(t, recorded && !digested, "a binary may run that reads records and no bytes")

	floor, err := st.Contract(t.Context(), func(int, int) {})
	require.NoError(t, err)
	require.Greater(t, floor, int64(54))
	other, err := store.Open(t.Context(), st.Pool().Config().ConnString(), store.Options{MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(other.Close)
	st = other
	w = fixture.New(t, st, now)
	recorded, digested = written(now)
	require.True(t, recorded && digested, "no older binary runs")
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
