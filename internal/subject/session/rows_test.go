package session_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// No column that a frame changes is in an index: only an update that changes no indexed column stays within its page
// (heap-only tuples). With one such column in one index, each frame would write to every index of the table.
func TestNoIndexContainsAColumnThatFramesChange(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	rows, err := st.Pool().Query(t.Context(), `select distinct a.attname from pg_index i
		join pg_attribute a on a.attrelid = i.indrelid
		where i.indrelid = 'sessions'::regclass and (a.attnum = any (i.indkey) or pg_get_expr(i.indpred, i.indrelid) ~ ('\m' || a.attname || '\M'))`)
	require.NoError(t, err)
	indexed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, indexed, "started_at")
	require.Contains(t, indexed, "status", "columns of predicates count")
	for _, column := range []string{"last_activity_at", "last_evidence_at", "coverage", "evidence_windows", "active_seconds", "modalities",
		"enrollment_ready", "trust_state", "state", "version"} {
		require.NotContains(t, indexed, column)
	}
}

// A frame that was processed without a lock is stored as a whole, or not at all if what it was processed with is no longer so.
func TestFramesAreStoredAsOfWhatWasRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile string // a statement that is committed after the frame was read
		blocks    int    // stored before
		saved     bool
	}{
		"nothing changed":              {saved: true},
		"nothing changed, with blocks": {blocks: 2, saved: true},
		"its session changed":          {meanwhile: "update sessions set version = version + 1"},
		"its session has ended":        {meanwhile: "update sessions set status = 'ended'"},
		"its subject is being erased":  {meanwhile: "update subjects set status = 'erasing'"},
		"its session is deleted":       {meanwhile: "with f as (delete from typed_passages) delete from sessions"},
		"its block changed":            {blocks: 2, meanwhile: "update typed_passages set version = version + 1 where block = 1"},
		"an older block changed":       {blocks: 2, meanwhile: "update typed_passages set version = version + 1 where block = 0", saved: true},
		"there is a block now":         {meanwhile: "insert into typed_passages select environment_id, subject_uid, device_class, 0, 'other', now() from sessions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.start(t)
			for block := range c.blocks {
				b.Exec("insert into typed_passages select environment_id, subject_uid, device_class, $1, 'known', now() from sessions", block)
			}
			o, err := session.ForFrame(t.Context(), b.Store.Q, b.Scope, id, session.FrameLookup{
				ID: "one", Passages: func([]byte, int, []byte) error { return nil },
			})
			require.NoError(t, err)
			if c.meanwhile != "" {
				b.Exec(c.meanwhile)
			}
			next := o.Session
			next.EvidenceWindows = 1
			frame := models.Frame{
				SessionID: id, FrameID: "one", EnvironmentID: b.Scope.Environment, SubjectUID: b.Subject.UID, Purpose: "score", Status: "accepted",
				ReceivedAt: storetest.Epoch, At: storetest.Epoch, Digest: []byte("0123456789abcdef0123456789abcdef"),
			}
			saved, err := session.SaveFrame(t.Context(), b.Store.Q, session.FrameRecord{
				Frame: frame, Remember: true, AsOf: o.AsOf, Passages: &assurance.PassageBlock{Block: max(c.blocks-1, 0), Sealed: []byte("new")},
			}, next)
			require.NoError(t, err)
			require.Equal(t, c.saved, saved)
			want := 0
			if c.saved {
				want = 1
			}
			require.Equal(t, want, b.Count("select count(*) from frames"))
			require.Equal(t, want, b.Count("select count(*) from typed_passages where passages = 'new'"))
			require.Equal(t, want, b.Count("select count(*) from sessions where evidence_windows = 1"))
		})
	}
}
