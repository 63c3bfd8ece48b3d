package browser_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/lab/recordings"
	"github.com/countersign-dev/countersign/internal/testing/recordingstest"
)

const (
	recordedPeople = 5
	recordedKeys   = 110 // of an enrollment session
	judgedKeys     = 160 // of a scored session
)

// recorded returns people with at least five recorded sessions of free text, each session reduced to keys with a key code.
func recorded(t *testing.T) [][][]features.KeyEvent {
	t.Helper()
	sets, err := recordings.Find(recordingstest.Folder(t))
	require.NoError(t, err)
	for _, set := range sets {
		if set.Kind != recordings.Keystrokes || set.Name != "essay-dev" {
			continue
		}
		sessions, err := recordings.ReadKeystrokes(set.Path)
		require.NoError(t, err)
		byUser, users := map[string][][]features.KeyEvent{}, []string{}
		for _, s := range sessions {
			keys := typeable(s.Events)
			if len(keys) < judgedKeys {
				continue
			}
			if byUser[s.User] = append(byUser[s.User], keys); len(byUser[s.User]) == 5 {
				users = append(users, s.User)
			}
		}
		var out [][][]features.KeyEvent
		for _, u := range users[:min(len(users), recordedPeople)] {
			out = append(out, byUser[u])
		}
		return out
	}
	t.Skip("the recordings contain no essays")
	return nil
}

func typeable(events []features.KeyEvent) []features.KeyEvent {
	var out []features.KeyEvent
	for _, e := range events {
		if codes()[e.Key] != "" && e.Release > e.Press {
			out = append(out, e)
		}
	}
	return out
}

// Recorded typing is replayed on a page: the test covers the whole path from a key to the claim.
func TestCollectorDistinguishesRecordedTypists(t *testing.T) {
	t.Parallel()
	needChromium(t)
	people := recorded(t)
	require.NotEmpty(t, people)
	known, unmasked := 0, 0
	for i, person := range people {
		s := newShop(t)
		var last string
		for n := range 3 {
			last = s.begin("enroll")
			s.types(person[n][:recordedKeys])
			s.acknowledged()
			s.eval("collector.stop().then(() => 1)", nil)
		}
		s.completeEnrollment(last)
		session := s.begin("score")
		s.types(person[3][:judgedKeys])
		s.acknowledged()
		own := s.continuity(session)
		s.types(people[(i+1)%len(people)][4][:judgedKeys])
		s.acknowledged()
		other := s.continuity(session)
		t.Logf("person %d: own typing %s, another person's typing %s", i+1, own, other)
		if own == "confirmed" || own == "likely" {
			known++
		}
		if other != "confirmed" && other != "likely" {
			unmasked++
		}
	}
	// By the rates of docs/accuracy.md one of five people may be misjudged.
	require.GreaterOrEqual(t, known, len(people)-1)
	require.GreaterOrEqual(t, unmasked, len(people)-1)
}
