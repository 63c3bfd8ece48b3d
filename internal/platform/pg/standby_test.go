package pg_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/local/localpg"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// standbyRig is a store whose lists may come from a standby.
type standbyRig struct {
	*pg.Store
	env              models.Environment
	primary, standby *localpg.Server
	left             chan error // the reasons with which the standby ceased to be read
}

func openStandby(t *testing.T, maxAge time.Duration) *standbyRig {
	t.Helper()
	r := &standbyRig{left: make(chan error, 100)}
	r.primary, r.standby = storetest.Pair(t)
	var err error
	r.Store, err = pg.Open(t.Context(), r.primary.URL(storetest.Database), pg.Options{Keys: testenv.Keys(), Standby: pg.StandbyOptions{
		URL: r.standby.URL(storetest.Database), MaxAge: maxAge, Changed: func(used bool, reason error) {
			if !used {
				r.left <- reason
			}
		},
	}})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	r.env = storetest.Environment(t, r.Store, models.Sandbox)
	r.await(t, true)
	for len(r.left) > 0 { // before the first comparison had caught up
		require.Error(t, <-r.left)
	}
	return r
}

// await waits until the standby is read, or is not.
func (r *standbyRig) await(t *testing.T, used bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		f, there := r.Store.Standby()
		return there && f.Used == used
	}, time.Minute, 20*time.Millisecond)
}

// list lists the subjects and reports whether the list came from the standby.
func (r *standbyRig) list(t *testing.T) (subjects int, old bool) {
	t.Helper()
	ctx, aged := pg.MayBeOld(t.Context())
	rows, _, err := subject.ListSubjects(ctx, r.Q, storetest.Scope(r.env), subject.Filter{}, pg.Page{Limit: 100})
	require.NoError(t, err)
	_, old = aged.Age()
	return len(rows), old
}

func TestListsThatMayBeOldComeFromTheStandby(t *testing.T) {
	t.Parallel()
	r := openStandby(t, time.Hour)
	storetest.Subject(t, r.Store, r.env, "first")
	require.Eventually(t, func() bool { n, _ := r.list(t); return n == 1 }, time.Minute, 20*time.Millisecond)
	standby := connect(t, r.standby.URL(storetest.Database))
	_, err := standby.Exec(t.Context(), "select pg_wal_replay_pause()")
	require.NoError(t, err)
	storetest.Subject(t, r.Store, r.env, "second")

	n, old := r.list(t)
	require.Equal(t, 1, n)
	require.True(t, old)
	t.Run("a list that must not be old comes from the primary", func(t *testing.T) {
		rows, _, err := subject.ListSubjects(t.Context(), r.Q, storetest.Scope(r.env), subject.Filter{}, pg.Page{Limit: 100})
		require.NoError(t, err)
		require.Len(t, rows, 2)
	})
	t.Run("what is read by its id comes from the primary", func(t *testing.T) {
		ctx, aged := pg.MayBeOld(t.Context())
		_, err := subjectrow.Get(ctx, r.Q, storetest.Scope(r.env), "second")
		require.NoError(t, err)
		_, old := aged.Age()
		require.False(t, old)
	})
	t.Run("a transaction that writes sees its own writes", func(t *testing.T) {
		ctx, aged := pg.MayBeOld(t.Context())
		undo := errors.New("undo")
		require.ErrorIs(t, r.Write(ctx, func(q *pg.Q) error {
			_, err := subjectrow.Create(ctx, q, models.Subject{UID: ids.New(ids.Subject), TenantID: r.env.TenantID, EnvironmentID: r.env.ID, ExternalID: "third",
				Status: models.SubjectActive, Enrollment: models.EnrollmentNone, CreatedAt: storetest.Epoch, UpdatedAt: storetest.Epoch})
			require.NoError(t, err)
			rows, _, err := subject.ListSubjects(ctx, q, storetest.Scope(r.env), subject.Filter{}, pg.Page{Limit: 100})
			require.NoError(t, err)
			require.Len(t, rows, 3)
			return undo
		}), undo)
		_, old := aged.Age()
		require.False(t, old)
	})
	t.Run("a report with a snapshot of its own", func(t *testing.T) {
		ctx, aged := pg.MayBeOld(t.Context())
		tally, err := evaluation.TallyDecisions(ctx, r.Store, storetest.Scope(r.env), evaluation.Window{Actions: models.Strings{"act_x"}, Until: time.Now()}, time.Minute)
		require.NoError(t, err)
		require.Zero(t, tally.Decisions)
		_, old := aged.Age()
		require.True(t, old)
	})
	t.Run("the age covers what is missing", func(t *testing.T) {
		require.Eventually(t, func() bool { f, _ := r.Store.Standby(); return f.Age > time.Second }, time.Minute, 20*time.Millisecond)
		n, _ := r.list(t)
		require.Equal(t, 1, n)
	})
}

func TestPrimaryIsReadWhileTheStandbyMustNotBe(t *testing.T) {
	t.Parallel()
	r := openStandby(t, 2*time.Second)
	storetest.Subject(t, r.Store, r.env, "first")
	standby := connect(t, r.standby.URL(storetest.Database))
	ceases := func(t *testing.T, reason string) {
		t.Helper()
		r.await(t, false)
		require.ErrorContains(t, <-r.left, reason)
		n, old := r.list(t)
		require.Equal(t, 1, n)
		require.False(t, old)
	}
	t.Run("it lags", func(t *testing.T) {
		_, err := standby.Exec(t.Context(), "select pg_wal_replay_pause()")
		require.NoError(t, err)
		storetest.Subject(t, r.Store, r.env, "later")
		_, err = r.Pool().Exec(t.Context(), "delete from subjects where external_id = 'later'")
		require.NoError(t, err)
		ceases(t, "its data is older than 2s")
		_, err = standby.Exec(t.Context(), "select pg_wal_replay_resume()")
		require.NoError(t, err)
		r.await(t, true)
	})
	t.Run("it is promoted", func(t *testing.T) {
		require.NoError(t, r.standby.Promote(t.Context()))
		ceases(t, "it was promoted")
	})
	t.Run("it is gone", func(t *testing.T) {
		require.NoError(t, r.standby.Stop())
		n, old := r.list(t)
		require.Equal(t, 1, n)
		require.False(t, old)
	})
}

func TestOpenStartsWithoutItsStandby(t *testing.T) {
	t.Parallel()
	address := testenv.Database(t)
	for name, c := range map[string]struct{ url, want string }{
		"it does not respond":           {"postgres://127.0.0.1:1/countersign", "it does not respond"},
		"it is a primary":               {address, "it was promoted"},
		"it is not a URL of a database": {"postgres://user:secret x@", "the standby: the database URL is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := pg.Open(t.Context(), address, pg.Options{Keys: testenv.Keys(), MaxConns: 2, Standby: pg.StandbyOptions{URL: c.url}})
			if err != nil {
				require.ErrorContains(t, err, c.want)
				require.NotContains(t, err.Error(), "secret")
				return
			}
			defer st.Close()
			ctx, aged := pg.MayBeOld(t.Context())
			_, _, err = subject.ListSubjects(ctx, st.Q, pg.Scope{Tenant: "tnt_x", Environment: "env_x"}, subject.Filter{}, pg.Page{Limit: 1})
			require.NoError(t, err)
			_, old := aged.Age()
			require.False(t, old)
			f, there := st.Standby()
			require.True(t, there)
			require.False(t, f.Used)
		})
	}
}

// A standby of a different server would look up to date whenever its log is longer.
func TestStandbyOfADifferentServerIsNotRead(t *testing.T) {
	t.Parallel()
	_, standby := storetest.Pair(t)
	reasons := make(chan error, 100)
	st, err := pg.Open(t.Context(), testenv.Database(t), pg.Options{Keys: testenv.Keys(), MaxConns: 2, Standby: pg.StandbyOptions{
		URL: standby.URL(storetest.Database), MaxAge: time.Hour, Changed: func(_ bool, reason error) { reasons <- reason },
	}})
	require.NoError(t, err)
	defer st.Close()
	require.ErrorContains(t, await(t, reasons), "it is a standby of a different server")
}

func await(t *testing.T, reasons chan error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case err := <-reasons:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
