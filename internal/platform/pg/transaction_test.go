package pg_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// typing is a subject with an active session.
type typingSession struct {
	*pg.Store
	scope   pg.Scope
	session models.Session
}

func newTypingSession(t *testing.T, st *pg.Store) typingSession {
	t.Helper()
	env := storetest.Environment(t, st, models.Sandbox)
	subject := storetest.Subject(t, st, env, "user-4711")
	s := models.Session{
		ID: ids.New(ids.Session), TenantID: env.TenantID, EnvironmentID: env.ID, SubjectUID: subject.UID, DeviceClass: "desktop",
		Status: models.SessionActive, StartedAt: storetest.Epoch, LastActivityAt: storetest.Epoch, Coverage: "none", TrustState: "LEARNING",
	}
	require.NoError(t, session.CreateSession(t.Context(), st.Q, s))
	return typingSession{st, storetest.Scope(env), s}
}

func (y typingSession) frame(id string) models.Frame {
	return models.Frame{SessionID: y.session.ID, FrameID: id, EnvironmentID: y.session.EnvironmentID, SubjectUID: y.session.SubjectUID,
		Purpose: "score", Status: "accepted", ReceivedAt: storetest.Epoch, At: storetest.Epoch, Digest: []byte{}}
}

// windows returns the committed number of evidence windows of the session.
func (y typingSession) windows(t *testing.T) int {
	t.Helper()
	v, err := identity.GetSession(t.Context(), y.Q, y.scope, y.session.ID)
	require.NoError(t, err)
	return v.Session.EvidenceWindows
}

var errStop = errors.New("stop")

// GORM and SQL run in one transaction, in order, whichever comes first.
func TestWriteRunsGORMAndSQLInOneTransaction(t *testing.T) {
	t.Parallel()
	y := newTypingSession(t, storetest.New(t))
	later := y.session
	later.ID, later.EvidenceWindows = ids.New(ids.Session), 1
	work := func(end error) error {
		return y.Write(t.Context(), func(q *pg.Q) error {
			next := y.session
			next.EvidenceWindows = y.windows(t) + 1
			if _, err := session.SaveFrame(t.Context(), q, session.FrameRecord{Frame: y.frame("one")}, next); err != nil { // SQL
				return err
			}
			if err := session.CreateSession(t.Context(), q, later); err != nil { // GORM
				return err
			}
			inside, err := identity.GetSession(t.Context(), q, y.scope, y.session.ID)
			require.NoError(t, err)
			require.Equal(t, next.EvidenceWindows, inside.Session.EvidenceWindows)
			_, err = identity.GetSession(t.Context(), y.Q, y.scope, later.ID)
			require.ErrorIs(t, err, pg.ErrNotFound, "no other transaction sees the session")
			if _, err := session.EndSession(t.Context(), q, y.scope, later.ID, storetest.Epoch); err != nil { // SQL
				return err
			}
			return end
		})
	}
	require.ErrorIs(t, work(errStop), errStop)
	require.Zero(t, y.windows(t))
	_, err := identity.GetSession(t.Context(), y.Q, y.scope, later.ID)
	require.ErrorIs(t, err, pg.ErrNotFound)

	require.NoError(t, work(nil))
	require.Equal(t, 1, y.windows(t))
	ended, err := identity.GetSession(t.Context(), y.Q, y.scope, later.ID)
	require.NoError(t, err)
	require.Equal(t, models.SessionEnded, ended.Session.Status)
}

// If f does not return the error of a statement, Write still does.
func TestWriteReportsAStatementThatFailedUnnoticed(t *testing.T) {
	t.Parallel()
	y := newTypingSession(t, storetest.New(t))
	err := y.Write(t.Context(), func(q *pg.Q) error {
		next := y.session
		next.EvidenceWindows = 1
		if _, err := template.SaveSession(t.Context(), q, next); err != nil {
			return err
		}
		require.Error(t, session.CreateSession(t.Context(), q, y.session), "the id is taken")
		return nil
	})
	require.ErrorIs(t, err, pgx.ErrTxCommitRollback)
	require.Zero(t, y.windows(t))
}

// A connection can be used again, however its transaction ended.
func TestConnectionSurvivesFailedTransactions(t *testing.T) {
	t.Parallel()
	st, err := pg.Open(t.Context(), testenv.Database(t), pg.Options{Keys: testenv.Keys(), MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	y := newTypingSession(t, st)
	require.NoError(t, y.Write(t.Context(), func(*pg.Q) error { return nil }), "a transaction without statements sends nothing")

	ctx, cancel := context.WithCancel(t.Context())
	err = y.Write(ctx, func(q *pg.Q) error {
		_, err := session.EndSession(ctx, q, y.scope, y.session.ID, storetest.Epoch)
		cancel()
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Panics(t, func() {
		_ = y.Write(t.Context(), func(q *pg.Q) error {
			_, _ = session.EndSession(t.Context(), q, y.scope, y.session.ID, storetest.Epoch)
			panic("a defect")
		})
	})
	require.ErrorIs(t, y.Write(t.Context(), func(q *pg.Q) error {
		_, err := subjectrow.GetByUID(t.Context(), q, y.scope, "unknown")
		return err
	}), pg.ErrNotFound)

	require.NoError(t, y.Write(t.Context(), func(q *pg.Q) error {
		ended, err := session.EndSession(t.Context(), q, y.scope, y.session.ID, storetest.Epoch)
		require.True(t, ended, "none of the transactions was committed")
		return err
	}))
}

// A process that is stopped during a transaction keeps its locks for the statement timeout only.
func TestIdleTransactionIsEnded(t *testing.T) {
	t.Parallel()
	url := testenv.Database(t)
	st, err := pg.Open(t.Context(), url, pg.Options{Keys: testenv.Keys(), StatementTimeout: 200 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	patient, err := pg.Open(t.Context(), url, pg.Options{Keys: testenv.Keys()})
	require.NoError(t, err)
	t.Cleanup(patient.Close)
	y := newTypingSession(t, st)
	err = y.Write(t.Context(), func(q *pg.Q) error {
		if _, err := template.LockSession(t.Context(), q, y.scope, y.session.ID); err != nil {
			return err
		}
		// The process is stopped here. Another process waits for the row and gets it.
		require.NoError(t, patient.Write(t.Context(), func(q *pg.Q) error {
			ended, err := session.EndSession(t.Context(), q, y.scope, y.session.ID, storetest.Epoch)
			require.True(t, ended)
			return err
		}))
		_, err := template.SaveSession(t.Context(), q, y.session)
		return err
	})
	require.Error(t, err)
	require.True(t, pg.IsUnavailable(err), "%v", err)
}

// Postgres ends a transaction for the sake of another: it is repeated, and a caller that meets the conflict each time can retry later.
func TestWriteRepeatsATransactionThatConflicts(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	for _, code := range []string{"40P01", "40001"} {
		for conflicts, ok := range map[int]bool{1: true, 4: true, 5: false} {
			tried := 0
			err := st.Write(t.Context(), func(q *pg.Q) error {
				if tried++; tried > conflicts {
					return nil
				}
				_, err := q.Exec(t.Context(), "do $$ begin raise exception using errcode = '"+code+"'; end $$")
				return err
			})
			require.Equal(t, ok, err == nil, "%s %d", code, conflicts)
			require.Equal(t, !ok, pg.Conflicted(err) && pg.IsUnavailable(err))
		}
	}
}

// A statement outside of a transaction is repeated likewise, however it is run.
func TestAStatementThatConflictsIsRepeated(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	_, err := st.Pool().Exec(t.Context(), "create sequence tries")
	require.NoError(t, err)
	var n int64
	for name, run := range map[string]func(query string) error{
		"Exec":     func(query string) error { _, err := st.Exec(t.Context(), query); return err },
		"QueryRow": func(query string) error { return ignore(st.QueryRow(t.Context(), query).Scan(&n), pgx.ErrNoRows) },
		"Raw":      func(query string) error { return st.Gorm(t.Context()).Raw(query).Find(&n).Error },
		"Gorm":     func(query string) error { return st.Gorm(t.Context()).Exec(query).Error },
	} {
		for conflicts, ok := range map[string]bool{"4": true, "5": false} {
			_, err := st.Pool().Exec(t.Context(), "alter sequence tries restart")
			require.NoError(t, err)
			require.Equal(t, ok, run("do $$ begin if nextval('tries') <= "+conflicts+" then raise exception using errcode = '40P01'; end if; end $$") == nil, "%s %s", name, conflicts)
		}
	}
}

// ignore returns err unless it is the one to ignore.
func ignore(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// A transaction with a guard is committed only if what it rests on holds. Nothing else fails as a guard does.
func TestGuardAbortsTheTransaction(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	_, err := st.Pool().Exec(t.Context(), "create table counted (n int)")
	require.NoError(t, err)
	for condition, holds := range map[string]bool{"true": true, "false": false, "null": false} {
		b := &pgx.Batch{}
		b.Queue("insert into counted values (1)")
		b.Queue("select guard(" + condition + ")")
		err := st.Q.Transaction(t.Context(), b)
		require.Equal(t, !holds, pg.Changed(err), "%s: %v", condition, err)
		require.Equal(t, holds, err == nil, condition)
	}
	_, err = st.Pool().Exec(t.Context(), "select 1 / 0")
	require.Error(t, err)
	require.False(t, pg.Changed(err))
	require.Equal(t, []string{"1"}, storetest.Texts(t, st, "select count(*)::text from counted"))
}
