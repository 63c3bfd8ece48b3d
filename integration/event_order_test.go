package integration_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// causalOrder lists chains of event types of one authorization. An event is never received before its cause.
var causalOrder = [][]string{
	{"authorization.decided", "hold.opened", "hold.approved"},
	{"authorization.decided", "challenge.requested", "challenge.completed"},
}

// requireCausalOrder requires that the events of one authorization follow their causes.
func requireCausalOrder(t *testing.T, where, authorization string, types []string) {
	t.Helper()
	require.NotEmpty(t, types, "%s received no event of %s", where, authorization)
	for _, chain := range causalOrder {
		last := -1
		for _, kind := range types {
			if place := slices.Index(chain, kind); place >= 0 {
				require.Greater(t, place, last, "%s received the events of %s as %v", where, authorization, types)
				last = place
			}
		}
	}
}

func TestEventsAreInCausalOrder(t *testing.T) {
	t.Parallel()
	const decisions = 30
	w := newSandbox(t)
	receiver := newReceiver(t)
	w.subscribe(t, receiver, "authorization.*", "challenge.*", "hold.*")
	next := w.follow(t, "", "")
	_, holds := w.action(t, "enforce", holding)
	_, challenges := w.action(t, "enforce", challenging)
	subject := w.subject(t)

	wanted := map[string][]string{} // authorization to the types of its events, in order
	followUps := map[string]string{}
	total := 0
	for n := range decisions {
		held := w.authorize(t, subject, holds, "hold").string("id")
		wanted[held] = []string{"authorization.decided", "hold.opened"}
		asked := w.authorize(t, subject, challenges, "challenge")
		wanted[asked.string("id")] = []string{"authorization.decided", "challenge.requested"}
		total += 4
		if n%6 != 0 {
			continue
		}
		approved := w.Admin.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "approve"}).is(200)
		followUps[approved.string("decision.id")] = held
		wanted[held] = append(wanted[held], "hold.approved")
		w.Server.post(t, "/api/v1/challenges/"+asked.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
		wanted[asked.string("id")] = append(wanted[asked.string("id")], "challenge.completed")
		total += 4 // each has a follow-up decision with two events
	}

	t.Run("stream", func(t *testing.T) {
		got, position := map[string][]string{}, map[string]int{}
		for n := range total {
			e := nextStreamedEvent(t, w, next)
			got[e.authorization] = append(got[e.authorization], e.kind)
			position[e.kind+e.authorization] = n
		}
		for id, types := range wanted {
			require.Equal(t, types, got[id], "the stream's events of %s", id)
		}
		for followUp, held := range followUps {
			require.Less(t, position["hold.approved"+held], position["authorization.decided"+followUp], "the approval precedes its follow-up decision")
		}
	})
	t.Run("activity and audit list", func(t *testing.T) {
		var list []struct{ Type, Authorization string }
		w.Server.get(t, "/api/v1/activity?limit=200&subject="+subject).is(200).into(&list)
		slices.Reverse(list) // newest first
		got := map[string][]string{}
		for _, e := range list {
			got[e.Authorization] = append(got[e.Authorization], e.Type)
		}
		for id, types := range wanted {
			require.Equal(t, types, got[id], "the activity of %s", id)
		}
		var entries []struct {
			Kind     string
			Sequence int
		}
		require.Eventually(t, func() bool {
			entries = nil
			w.Admin.get(t, "/api/v1/audit?limit=200").is(200).into(&entries)
			sealed := 0
			for _, e := range entries {
				if e.Kind == "authorization.decided" {
					sealed++
				}
			}
			return sealed == len(wanted)+2*len(followUps)
		}, patience, 100*time.Millisecond)
		require.True(t, slices.IsSortedFunc(entries, func(a, b struct {
			Kind     string
			Sequence int
		}) int {
			return b.Sequence - a.Sequence
		}), "the list is in chain order")
	})
	t.Run("webhooks", func(t *testing.T) {
		require.Eventually(t, func() bool { return len(receiver.types()) == total }, patience, 50*time.Millisecond)
		require.NoError(t, receiver.fault)
		receiver.mu.Lock()
		defer receiver.mu.Unlock()
		got := map[string][]string{}
		for _, d := range receiver.got {
			id, _ := d.Data["authorization"].(string)
			got[id] = append(got[id], d.Type)
		}
		for id, types := range got {
			requireCausalOrder(t, "the webhook receiver", id, types)
		}
	})
}

// streamedEvent is an event of the stream about an authorization.
type streamedEvent struct{ kind, authorization string }

// nextStreamedEvent returns the next event of the stream about an authorization.
func nextStreamedEvent(t *testing.T, w world, next func() delivered) streamedEvent {
	t.Helper()
	for {
		e := next()
		var id string
		require.NoError(t, shared.Store.Pool().QueryRow(t.Context(), "select coalesce(authorization_id, '') from events where environment_id = $1 and id = $2",
			w.ID, e.ID).Scan(&id))
		if id != "" {
			return streamedEvent{e.Type, id}
		}
	}
}

func TestRevocationPrecedesItsConsequences(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	for name, c := range map[string]struct {
		cause string
		do    func(subject string)
	}{
		"revoke":   {"subject.revoked", func(s string) { w.Server.post(t, "/api/v1/subjects/"+s+"/revoke", nil).is(200) }},
		"recovery": {"recovery.started", func(s string) { w.Server.post(t, "/api/v1/subjects/"+s+"/recovery", object{"anchor": "none"}).is(201) }},
	} {
		t.Run(name, func(t *testing.T) {
			subject := w.subject(t)
			for range 5 {
				w.authorize(t, subject, action, "allow")
			}
			c.do(subject)
			var list []struct{ Type string }
			w.Server.get(t, "/api/v1/activity?limit=200&subject="+subject).is(200).into(&list)
			slices.Reverse(list)
			types := make([]string, len(list))
			for i, e := range list {
				types[i] = e.Type
			}
			cause, first := slices.Index(types, c.cause), slices.Index(types, "proof.revoked")
			require.GreaterOrEqual(t, cause, 0, "%v", types)
			require.Greater(t, first, cause, "%v", types)
		})
	}
}
