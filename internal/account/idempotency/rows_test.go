package idempotency_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/idempotency"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// A reservation without a response can be replaced after a while. A late write of the replaced request changes nothing, and
// a stored response is never overwritten.
func TestReserveReplacesAnAbandonedReservation(t *testing.T) {
	t.Parallel()
	st, ctx := storetest.New(t), t.Context()
	row := func(at time.Time, body string) models.IdempotencyKey {
		status := 201
		return models.IdempotencyKey{EnvironmentID: "env_1", CredentialID: "crd_1", Key: "k", Operation: "createSession", RequestHash: []byte{1}, Status: &status,
			Headers: models.JSON("{}"), Body: []byte(body), CreatedAt: at}
	}
	reserve := func(k models.IdempotencyKey) bool {
		t.Helper()
		got, err := idempotency.Reserve(ctx, st.Q, k, k.CreatedAt.Add(-time.Minute))
		require.NoError(t, err)
		return got
	}
	dead := row(storetest.Epoch, "of the dead")
	require.True(t, reserve(dead))
	require.False(t, reserve(row(storetest.Epoch.Add(time.Minute), "")), "the first request may still be running")
	heir := row(storetest.Epoch.Add(time.Minute+time.Microsecond), "of the second request")
	require.True(t, reserve(heir))

	require.NoError(t, idempotency.Finish(ctx, st.Q, dead))
	require.NoError(t, idempotency.Release(ctx, st.Q, dead))
	kept, err := idempotency.Get(ctx, st.Q, "env_1", "crd_1", "k")
	require.NoError(t, err)
	require.Nil(t, kept.Status, "the first request was replaced")

	require.NoError(t, idempotency.Finish(ctx, st.Q, heir))
	heir.Body = []byte("written twice")
	require.NoError(t, idempotency.Finish(ctx, st.Q, heir))
	require.NoError(t, idempotency.Release(ctx, st.Q, heir))
	require.False(t, reserve(row(storetest.Epoch.Add(time.Hour), "")), "a stored response is never abandoned")
	kept, err = idempotency.Get(ctx, st.Q, "env_1", "crd_1", "k")
	require.NoError(t, err)
	require.Equal(t, "of the second request", string(kept.Body))
}

func TestReserveGrantsAKeyToOneOfManyRequests(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	abandoned := models.IdempotencyKey{EnvironmentID: "env_1", CredentialID: "crd_1", Key: "abandoned", RequestHash: []byte{1}, CreatedAt: storetest.Epoch.Add(-time.Hour)}
	_, err := idempotency.Reserve(t.Context(), st.Q, abandoned, storetest.Epoch)
	require.NoError(t, err)
	for _, key := range []string{"new", "abandoned"} {
		var won atomic.Int32
		var all sync.WaitGroup
		for i := range 50 {
			k := models.IdempotencyKey{EnvironmentID: "env_1", CredentialID: "crd_1", Key: key, RequestHash: []byte{byte(i)}, CreatedAt: storetest.Epoch}
			all.Go(func() {
				if got, err := idempotency.Reserve(t.Context(), st.Q, k, storetest.Epoch.Add(-time.Minute)); err == nil && got {
					won.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, won.Load(), key)
	}
}
