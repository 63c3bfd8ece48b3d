package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARestoreIsComparedWithThePoint(t *testing.T) {
	t.Parallel()
	point := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before, after, restored := point.Add(-time.Second), point.Add(time.Second), point.Add(time.Minute)
	asked := func(id string, sent time.Time) Asked {
		return Asked{Key: id, ID: id, Sent: sent, Answer: "{}", Want: "hold"}
	}
	for name, c := range map[string]struct {
		late   Asked // returned after the point
		stored bool
		keys   []string // of the journal afterwards
		answer bool     // of the late one
		lost   int
		found  int
	}{
		"requested after the point and lost":             {asked("late", after), false, []string{"early"}, false, 1, 0},
		"requested after the point and stored":           {asked("late", after), true, []string{"early"}, false, 0, 1},
		"under way at the point and lost":                {asked("late", before), false, []string{"early", "late"}, false, 1, 0},
		"under way at the point and stored":              {asked("late", before), true, []string{"early", "late"}, true, 0, 0},
		"requested after the restore":                    {asked("late", restored.Add(time.Second)), true, []string{"early", "late"}, true, 0, 0},
		"requested after the restore and lost":           {asked("late", restored.Add(time.Second)), false, []string{"early", "late"}, true, 0, 0},
		"requested after the point without a response":   {Asked{Key: "late", Sent: after}, false, []string{"early"}, false, 0, 0},
		"under way at the point and never had an answer": {Asked{Key: "late", Sent: before}, false, []string{"early", "late"}, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &drill{world: &world{journal: &Journal{Asked: []Asked{asked("early", before)}}}, restored: restored, now: Restored{Lost: map[string]int{}}}
			d.marked = d.journal.mark()
			d.marked.done = point
			d.journal.Asked = append(d.journal.Asked, c.late)
			stored := map[string]bool{"early": true}
			if c.stored {
				stored["late"] = true
			}
			d.pruneAsked(stored)
			var keys []string
			for _, a := range d.journal.Asked {
				keys = append(keys, a.Key)
			}
			require.Equal(t, c.keys, keys)
			require.Equal(t, c.answer, len(keys) == 2 && d.journal.Asked[1].Answer != "")
			require.Equal(t, c.lost, d.now.Lost["decisions"])
			require.Len(t, d.now.Violations, c.found)
		})
	}
}
