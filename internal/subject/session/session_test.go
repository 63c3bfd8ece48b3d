package session_test

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

type bundle struct {
	*fixture.World
	*session.Service
	clock     *clock.Fake
	principal identity.Principal
	typist    *synthetic.Typist
	keys      *keyring.Keyring
	frames    int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return setupOn(t, storetest.New(t))
}

func setupOn(t *testing.T, st *pg.Store) *bundle {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	b := &bundle{World: fixture.New(t, st, storetest.Epoch), clock: clock.NewFake(storetest.Epoch), typist: synthetic.NewTypist(1), keys: keys}
	b.principal = b.Principal("crd_server")
	b.Service = session.New(b.Store, b.clock, assurance.New(scoring.Default(), keys), nil)
	return b
}

func (b *bundle) start(t *testing.T) string {
	t.Helper()
	v, err := b.Start(t.Context(), b.principal, b.Subject.ExternalID, "desktop")
	require.NoError(t, err)
	return v.Session.ID
}

// frame returns a frame of fifty keystrokes with an id of its own.
func (b *bundle) frame() session.Frame {
	b.frames++
	return session.Frame{FrameID: strconv.Itoa(b.frames), Timestamp: float64(b.clock.Now().Unix()), DurationMS: 60_000, Features: b.typist.Frame(50).Tree()}
}

func requireProblem(t *testing.T, err error, code problem.Code) {
	t.Helper()
	require.True(t, problem.Is(err, code), "want %s, got %v", code, err)
}

func TestStartNeedsAnActiveSubject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v, err := b.Start(t.Context(), b.principal, b.Subject.ExternalID, "")
	require.NoError(t, err)
	require.Equal(t, "unknown", v.Session.DeviceClass)
	require.Equal(t, models.SessionActive, v.Session.Status)
	require.Equal(t, 1, b.Events("session.started"))

	_, err = b.Start(t.Context(), b.principal, "unknown", "")
	requireProblem(t, err, problem.NotFound)
	require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error {
		_, err := subject.RevokeSubject(t.Context(), q, b.Scope, b.Subject.UID, b.clock.Now())
		return err
	}))
	_, err = b.Start(t.Context(), b.principal, b.Subject.ExternalID, "")
	requireProblem(t, err, problem.SubjectRevoked)
}

func TestEndIsIdempotent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.start(t)
	first, err := b.End(t.Context(), b.principal, id)
	require.NoError(t, err)
	require.Equal(t, models.SessionEnded, first.Session.Status)
	b.clock.Advance(time.Minute)
	second, err := b.End(t.Context(), b.principal, id)
	require.NoError(t, err)
	require.True(t, first.Session.EndedAt.Equal(*second.Session.EndedAt))
	require.Equal(t, 1, b.Events("session.ended"))
	_, err = b.End(t.Context(), b.principal, "ses_unknown")
	requireProblem(t, err, problem.NotFound)
}

// An idle session is expired for every reader, and accepts no evidence, although its row still says active.
func TestIdleSessionIsExpired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.start(t)
	b.clock.Advance(assurance.SessionIdle)
	v, err := b.Get(t.Context(), b.Scope, id)
	require.NoError(t, err)
	require.Equal(t, models.SessionExpired, v.Session.Status)
	listed, _, err := b.List(t.Context(), b.Scope, b.Subject.ExternalID, "", pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, models.SessionExpired, listed[0].Session.Status)
	_, err = b.Evidence(t.Context(), b.principal, id, b.frame())
	requireProblem(t, err, problem.SessionClosed)
}

func TestListOfAnUnknownSubjectIsEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.start(t)
	listed, next, err := b.List(t.Context(), b.Scope, "unknown", "", pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, listed)
	require.Empty(t, next)
}

func TestEvidenceCountsAFrameOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, frame := b.start(t), b.frame()
	first, err := b.Evidence(t.Context(), b.principal, id, frame)
	require.NoError(t, err)
	require.Equal(t, string(features.Accepted), first.Status)
	require.Equal(t, 1, first.EvidenceWindows)
	repeated, err := b.Evidence(t.Context(), b.principal, id, frame)
	require.NoError(t, err)
	require.Equal(t, first, repeated)
	next, err := b.Evidence(t.Context(), b.principal, id, b.frame())
	require.NoError(t, err)
	require.Equal(t, 2, next.EvidenceWindows)
}

// Copies of a recording with some noise fit each other. Training must not take them for evidence of its own.
func TestNearCopiesAreNoEvidenceForAnEnrollment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, recorded := b.start(t), b.typist.Frame(50)
	copied := b.typist.Frame(50)
	cells, noisy := recorded.Blocks[features.Keystroke].Cells, copied.Blocks[features.Keystroke].Cells
	copy(noisy.N, cells.N)
	for i, m := range cells.M {
		noisy.M[i] = m + .01*float64(i%2)
	}
	for i, c := range []struct {
		frame  features.Frame
		stored int
	}{{recorded, 1}, {copied, 1}, {b.typist.Frame(50), 2}} {
		b.clock.Advance(time.Minute)
		f := b.frame()
		f.Features, f.Purpose = c.frame.Tree(), identity.PurposeEnroll
		ack, err := b.Evidence(t.Context(), b.principal, id, f)
		require.NoError(t, err)
		require.Equal(t, string(features.Accepted), ack.Status)
		require.Equal(t, i == 1, slices.Contains(ack.ReasonCodes, scoring.ReasonReplayNear), ack.ReasonCodes)
		require.Equal(t, c.stored, b.Count("select count(*) from frames where session_id = $1 and vector is not null", id))
	}
}

func TestEvidenceCountsConcurrentRepetitionsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, frame := b.start(t), b.frame()
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = b.Evidence(t.Context(), b.principal, id, frame) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	v, err := b.Get(t.Context(), b.Scope, id)
	require.NoError(t, err)
	require.Equal(t, 1, v.Session.EvidenceWindows)
	require.Equal(t, 1, b.Count("select count(*) from frames where session_id = $1", id))
}

// Frames of one person in several sessions at once each see the passages of those before them, or one would overwrite another's.
func TestEvidenceKeepsThePassagesOfConcurrentSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const sessions, frames = 4, 5 // more than a block has
	var errs [sessions][frames]error
	var wg sync.WaitGroup
	for i := range sessions {
		id := b.start(t)
		for n := range frames {
			frame := b.frame()
			wg.Go(func() { _, errs[i][n] = b.Evidence(t.Context(), b.principal, id, frame) })
		}
	}
	wg.Wait()
	require.Zero(t, errs)
	known := 0
	assessor := assurance.New(scoring.Default(), b.keys)
	rows, err := b.Store.Pool().Query(t.Context(), "select block, passages from typed_passages")
	require.NoError(t, err)
	var block int
	var sealed []byte
	_, err = pgx.ForEachRow(rows, []any{&block, &sealed}, func() error {
		passages, err := assessor.OpenPassages(assurance.PassagePlace(b.Subject.UID, "desktop", block), sealed)
		known += passages.Len()
		return err
	})
	require.NoError(t, err)
	require.Equal(t, sessions*frames, known)
}

// A client token reaches its own subject and session only, and sends frames for its purposes only.
func TestEvidenceIsLimitedByTheClientToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, other := b.start(t), b.start(t)
	for name, c := range map[string]struct {
		client  identity.ClientGrant
		purpose string
		code    problem.Code // empty if the frame is accepted
	}{
		"own subject":     {identity.ClientGrant{SubjectUID: b.Subject.UID}, "score", ""},
		"own session":     {identity.ClientGrant{SubjectUID: b.Subject.UID, SessionID: id}, "score", ""},
		"other subject":   {identity.ClientGrant{SubjectUID: "sub_other"}, "score", problem.NotFound},
		"other session":   {identity.ClientGrant{SubjectUID: b.Subject.UID, SessionID: other}, "score", problem.NotFound},
		"another purpose": {identity.ClientGrant{SubjectUID: b.Subject.UID, Purposes: []string{"score"}}, "enroll", problem.PurposeNotGranted},
	} {
		p, frame := b.principal, b.frame()
		p.Client, frame.Purpose = &c.client, c.purpose
		t.Run(name, func(t *testing.T) {
			_, err := b.Evidence(t.Context(), p, id, frame)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			requireProblem(t, err, c.code)
		})
	}
}

func TestEvidenceRejectsFeaturesOutsideOfTheSchema(t *testing.T) {
	t.Parallel()
	b := setup(t)
	frame := b.frame()
	frame.Features = map[string]any{"typed_text": "secret"}
	id := b.start(t)
	ack, err := b.Evidence(t.Context(), b.principal, id, frame)
	require.NoError(t, err)
	require.NotEqual(t, string(features.Accepted), ack.Status)
	require.NotEmpty(t, ack.ReasonCodes)
	require.Zero(t, ack.EvidenceWindows)
}
