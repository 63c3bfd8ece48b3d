package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// happenTogether records events in one transaction and returns their ids, in order. It fans out none of them.
func (b *bundle) happenTogether(data ...events.Data) []string {
	b.t.Helper()
	var ids []string
	require.NoError(b.t, b.st.Write(b.t.Context(), func(q *pg.Q) error {
		for _, d := range data {
			row, err := events.Row(events.Entry{Scope: b.admin.Store(), At: b.time.Now(), Subject: "ann", SubjectUID: "sub_ann",
				Actor: "credential:crd_1", Data: d})
			if err != nil {
				return err
			}
			ids = append(ids, row.ID)
			if err := events.InsertEvent(b.t.Context(), q, row, false); err != nil {
				return err
			}
		}
		return nil
	}))
	return ids
}

func (s *steered) types(t *testing.T) []string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, r := range s.got {
		var m struct{ Type string }
		require.NoError(t, json.Unmarshal(r.body, &m))
		out = append(out, m.Type)
	}
	return out
}

func TestEffectFannedOutFirstIsSentAfterItsCause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	for range 20 {
		revoked := events.ProofRevokedData{ProofID: "prf_1", Reason: "subject_revoked"}
		ids := b.happenTogether(events.SubjectRevokedData{}, revoked, revoked)
		slices.Reverse(ids)
		for _, id := range ids { // the outbox is worked off at once and in no order
			require.NoError(t, b.fan.Handle(t.Context(), models.Outbox{EnvironmentID: b.admin.EnvironmentID, Ref: id}))
		}
		b.deliver(e, Breaker{})
	}
	got := b.receiver.types(t)
	require.Len(t, got, 60)
	for i := 0; i < len(got); i += 3 {
		require.Equal(t, []string{"subject.revoked", "proof.revoked", "proof.revoked"}, got[i:i+3])
	}
}

// Rows that are handled together create the same deliveries as one by one: each once, in any order, of every environment.
func TestEventsAreFannedOutTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e, _ := b.endpoint()
	revoked := events.ProofRevokedData{ProofID: "prf_1", Reason: "subject_revoked"}
	caused := b.happenTogether(events.SubjectRevokedData{}, revoked, revoked)
	single := b.happenTogether(events.SubjectCreatedData{})
	other := b.environment("tnt_2", "env_2")
	theirs, _, err := b.endpoints.Create(t.Context(), other, change.Endpoint{URL: ptr(b.receiver.url)})
	require.NoError(t, err)
	b.admin = other
	foreign := b.happenTogether(events.SubjectCreatedData{})

	rows := []models.Outbox{{EnvironmentID: "env_2", Ref: foreign[0]}, {EnvironmentID: "env_1", Ref: "evt_gone"}}
	for _, id := range []string{caused[2], single[0], caused[1], caused[2], caused[0]} {
		rows = append(rows, models.Outbox{EnvironmentID: "env_1", Ref: id})
	}
	require.NoError(t, b.fan.HandleTogether(t.Context(), rows))
	require.NoError(t, b.fan.HandleTogether(t.Context(), rows), "safe to repeat")
	require.ElementsMatch(t, []string{e.ID, theirs.ID}, b.waker.take())
	b.deliver(e, Breaker{})
	got := b.receiver.types(t)
	require.Len(t, got, 4)
	require.Equal(t, []string{"subject.revoked", "proof.revoked", "proof.revoked"}, slices.DeleteFunc(got, func(kind string) bool { return kind == "subject.created" }))
}

func TestPrecedes(t *testing.T) {
	t.Parallel()
	azn, other := "azn_1", "azn_2"
	event := func(seq int64, cause string, kind string, authorization *string) models.Event {
		e := models.Event{ID: fmt.Sprint("evt_", seq), Seq: seq, Type: kind, AuthorizationID: authorization}
		if cause != "" {
			e.Cause = &cause
		}
		return e
	}
	for name, c := range map[string]struct {
		first, second models.Event
		want          bool
	}{
		"a decision and its hold":             {event(1, "", "authorization.decided", &azn), event(2, "evt_1", "hold.opened", &azn), true},
		"a hold and its decision":             {event(2, "evt_1", "hold.opened", &azn), event(1, "", "authorization.decided", &azn), false},
		"a hold and its approval, later":      {event(2, "evt_1", "hold.opened", &azn), event(3, "", "hold.approved", &azn), true},
		"a revocation and a proof it revokes": {event(1, "", "subject.revoked", nil), event(2, "evt_1", "proof.revoked", &azn), true},
		"two consequences of one revocation":  {event(2, "evt_1", "proof.revoked", &azn), event(3, "evt_1", "challenge.cancelled", &other), true},
		"two proofs of one revocation":        {event(2, "evt_1", "proof.revoked", &azn), event(3, "evt_1", "proof.revoked", &other), false},
		"two revocations":                     {event(1, "", "subject.revoked", nil), event(3, "evt_2", "proof.revoked", &azn), false},
		"unrelated decisions":                 {event(1, "", "authorization.decided", &azn), event(2, "", "authorization.decided", &other), false},
	} {
		require.Equal(t, c.want, precedes(c.first, c.second), name)
	}
}
