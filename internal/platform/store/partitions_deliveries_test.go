package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// An event is delivered to an endpoint once, in whichever partition it is: the id of the event has the time, so that the key of event and
// endpoint is one over all partitions. What is pending outlives its retention.
func TestDividedDeliveriesAreMadeOnce(t *testing.T) {
	t.Parallel()
	st := divided(t)
	ctx := t.Context()
	endpoint := models.WebhookEndpoint{ID: "whe_1", TenantID: "tnt_1", EnvironmentID: "env_1"}
	later := partNow.AddDate(0, 0, 10)
	old, present := ids.Lowest("evt", partNow), ids.Lowest("evt", later)
	owed := func(id, event string) models.WebhookDelivery {
		return models.WebhookDelivery{ID: id, EndpointID: "whe_1", EnvironmentID: "env_1", EventID: event, NextAttemptAt: partNow, CreatedAt: partNow}
	}
	require.NoError(t, st.Deliveries().Insert(ctx, []models.WebhookDelivery{owed("dlv_1", old), owed("dlv_2", present)}))
	require.NoError(t, st.Deliveries().Insert(ctx, []models.WebhookDelivery{owed("dlv_3", old), owed("dlv_4", present)}))
	require.Equal(t, map[string]string{"webhook_deliveries_00000000": "1", "webhook_deliveries_20261130": "1", "webhook_deliveries_20261207": "0"},
		rowsByPart(t, st, "webhook_deliveries"))

	require.NoError(t, st.Deliveries().RecordAttempts(ctx, []store.Attempted{{Status: models.DeliverySucceeded, WebhookAttempt: models.WebhookAttempt{ID: "dlv_a",
		DeliveryID: "dlv_1", EndpointID: "whe_1", EnvironmentID: "env_1", EventID: old, Attempt: 1, At: partNow, Succeeded: true}}}))
	due, err := st.Deliveries().Due(ctx, endpoint, later, nil, 9, false)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, "dlv_2", due[0].ID)

	// A replay makes the delivery of an old event again, in its place.
	made, err := st.Deliveries().Requeue(ctx, endpoint, store.ReplayFilter{Statuses: []models.DeliveryStatus{models.DeliverySucceeded}}, later, 9)
	require.NoError(t, err)
	require.EqualValues(t, 1, made)
	drop := func() (rows int64) {
		rows, err := st.DropPartitions(ctx, "webhook_deliveries", later.AddDate(0, 0, 20), func(*store.Q, []store.EnvironmentCount) error { return nil })
		require.NoError(t, err)
		return rows
	}
	require.Zero(t, drop(), "a delivery of each partition is pending")
	require.NoError(t, st.Deliveries().Discard(ctx, models.WebhookDelivery{ID: "dlv_1", EventID: old, EnvironmentID: "env_1"}, later))
	require.EqualValues(t, 1, drop())
	rest, err := st.Deliveries().Drop(ctx, later.AddDate(0, 0, 20), 9)
	require.NoError(t, err)
	require.Zero(t, rest)
	require.Equal(t, "1", rowsByPart(t, st, "webhook_deliveries")["webhook_deliveries_20261130"])
}
