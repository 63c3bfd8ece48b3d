package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// Each reader of events returns the data of a decision's event, which are stored as one compressed value.
func TestPackedDataAreReadEverywhere(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	w := fixture.New(t, st, storetest.Epoch)
	a := w.Authorization("allow")
	digest := canonical.DigestBytes([]byte(a.ID))
	e, err := events.Row(events.Entry{
		Scope: w.Scope, At: w.Now, SubjectUID: w.Subject.UID, Subject: w.Subject.ExternalID, Action: a.ActionKey, AuthorizationID: a.ID, Decision: "allow", Actor: "cli:test",
		Data: events.AuthorizationDecidedData{
			Mode: "enforce", PolicyVersion: 1, ReasonCodes: []string{"requirements_met"}, Coverage: "sufficient", InsufficientEvidence: new(bool),
			LatencyMS: new(int), ActionHash: digest, RecordDigest: digest, TraceID: "f6007ef94d02e98c329e340cbe215d31",
		},
	})
	require.NoError(t, err)
	w.Write(store.Decision{Authorization: a, Events: []models.Event{e}})
	w.Count("insert into audit_chain (environment_id, seq, event_id, previous, hash, sealed_at) values ($1, 1, $2, '', '', now()) returning 1", w.Scope.Environment, e.ID)
	require.Equal(t, 1, w.Count("select count(*) from events where id = $1 and data is null and packed is not null", e.ID))

	for name, read := range map[string]func() ([]models.Event, error){
		"one": func() ([]models.Event, error) {
			found, err := st.Events().Get(t.Context(), w.Scope, e.ID)
			return []models.Event{found}, err
		},
		"with its causes": func() ([]models.Event, error) {
			return st.Events().WithCauses(t.Context(), w.Scope.Environment, []string{e.ID}, 9)
		},
		"of a decision": func() ([]models.Event, error) {
			return st.Events().OfAuthorization(t.Context(), w.Scope, []string{a.ID})
		},
		"activity of few types": func() ([]models.Event, error) {
			found, _, err := st.Events().Activity(t.Context(), w.Scope, store.ActivityFilter{Types: []string{e.Type}}, store.Page{Limit: 9})
			return found, err
		},
		"activity of many types": func() ([]models.Event, error) {
			many := []string{e.Type, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
			found, _, err := st.Events().Activity(t.Context(), w.Scope, store.ActivityFilter{Types: many}, store.Page{Limit: 9})
			return found, err
		},
		"streams": func() ([]models.Event, error) {
			sealed, err := st.Audit().After(t.Context(), map[string]int64{w.Scope.Environment: 0}, 9)
			if err != nil || len(sealed) != 1 {
				return nil, err
			}
			return []models.Event{*sealed[0].Event}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := read()
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, string(e.Data), string(found[0].Data))
		})
	}
}
