package subject_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/research"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// bundle is one environment with the service.
type bundle struct {
	store     *pg.Store
	env       models.Environment
	scope     pg.Scope
	clock     *clock.Fake
	keys      *keyring.Keyring
	service   *subject.Service
	principal identity.Principal
}

// plain is an Opener for unsealed data.
type plain struct{}

func (plain) OpenState(s models.Session) (scoring.State, error) {
	return scoring.NewState(scoring.UnknownDevice), nil
}

func (plain) OpenPassages(string, []byte) (scoring.Passages, error) {
	return make(scoring.Passages, scoring.PassageSize()), nil
}

func (plain) OpenTemplate(t models.Template) (scoring.Template, error) { return learned(), nil }

var learned = sync.OnceValue(func() scoring.Template {
	who := synthetic.NewTypist(1)
	var frames []features.Frame
	for range 6 {
		frames = append(frames, who.Frame(50))
	}
	ts, _, err := scoring.Default().Train([]scoring.SessionFrames{{Frames: frames}}, scoring.TrainOptions{Force: true})
	if err != nil {
		panic(err)
	}
	return ts[0]
})

// vector returns a frame in its stored form.
func vector(t *testing.T) []byte {
	t.Helper()
	data, err := synthetic.NewTypist(1).Frame(50).MarshalBinary()
	require.NoError(t, err)
	return data
}

func setup(t *testing.T) *bundle {
	t.Helper()
	st := storetest.New(t)
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	c := clock.NewFake(storetest.Epoch)
	b := &bundle{store: st, clock: c, keys: ring, service: subject.New(st, ring, plain{}, c)}
	return b.in(t)
}

// in returns the bundle in a new environment of a different tenant.
func (b *bundle) in(t *testing.T) *bundle {
	t.Helper()
	out := *b
	out.env = storetest.Environment(t, b.store, models.Sandbox)
	out.scope = storetest.Scope(out.env)
	out.principal = identity.Principal{
		CredentialID: ids.New(ids.Credential), TenantID: out.env.TenantID, EnvironmentID: out.env.ID, Kind: models.Sandbox,
		Scope: models.ScopeServer, RequestID: "req_1",
	}
	return &out
}

func (b *bundle) create(t *testing.T, id string) subject.View {
	t.Helper()
	v, err := b.service.Create(context.Background(), b.principal, id)
	require.NoError(t, err)
	return v
}

func (b *bundle) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	testenv.Exec(t, b.store, query, args...)
}

func (b *bundle) texts(t *testing.T, query string, args ...any) []string {
	t.Helper()
	rows, err := b.store.Pool().Query(context.Background(), query, args...)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

func (b *bundle) events(t *testing.T) []string {
	t.Helper()
	return b.texts(t, "select type from events where environment_id = $1 order by seq", b.env.ID)
}

func requireCode(t *testing.T, want problem.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.NotNil(t, problem.As(err), "%v", err)
	require.Equal(t, want, problem.As(err).Code, "%v", err)
}

func TestCreateSubject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.create(t, "user-4711")
	require.Equal(t, "user-4711", v.ExternalID)
	require.Equal(t, models.SubjectActive, v.Status)
	require.Equal(t, models.EnrollmentNone, v.Enrollment)
	_, err := b.service.Create(context.Background(), b.principal, "user-4711")
	requireCode(t, problem.SubjectExists, err)

	ours := b.create(t, "")
	require.True(t, ids.Has(ids.Subject, ours.ExternalID))
	require.NotEqual(t, ours.UID, ours.ExternalID, "the uid is not disclosed")

	abroad := b.in(t)
	abroad.create(t, "user-4711")
	require.Equal(t, []string{"subject.created", "subject.created"}, b.events(t))
}

func TestGetIsScopedToTheEnvironment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	abroad := b.in(t)
	abroad.create(t, "user-4711")
	ctx := context.Background()
	_, err := b.service.Get(ctx, b.scope, "user-4711")
	require.Equal(t, problem.NewNotFound(), problem.As(err))
	_, err = b.service.Freeze(ctx, b.principal, "user-4711", true, "")
	require.Equal(t, problem.NewNotFound(), problem.As(err))
	_, err = b.service.Revoke(ctx, b.principal, "user-4711", "")
	require.Equal(t, problem.NewNotFound(), problem.As(err))
	_, err = b.service.Erase(ctx, b.principal, "user-4711")
	require.Equal(t, problem.NewNotFound(), problem.As(err))
	_, err = b.service.Export(ctx, b.principal, "user-4711")
	require.Equal(t, problem.NewNotFound(), problem.As(err))
	_, err = b.service.SetConsent(ctx, b.principal, "user-4711", true)
	require.Equal(t, problem.NewNotFound(), problem.As(err))
}

func TestListPagesFiltersAndIncludesPasskeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	var uids []string
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		b.clock.Advance(time.Second)
		uids = append(uids, b.create(t, id).UID)
	}
	_, err := b.service.Revoke(ctx, b.principal, "b", "")
	require.NoError(t, err)
	b.seedPasskey(t, uids[4], "psk_kept", nil)
	revoked := b.clock.Now()
	b.seedPasskey(t, uids[4], "psk_revoked", &revoked)

	var got []string
	page := pg.Page{Limit: 2}
	for {
		views, next, err := b.service.List(ctx, b.scope, subject.Filter{}, page)
		require.NoError(t, err)
		for _, v := range views {
			got = append(got, v.ExternalID)
			if v.ExternalID == "e" {
				require.Len(t, v.Passkeys, 1)
				require.Equal(t, "psk_kept", v.Passkeys[0].ID)
			}
		}
		if next == "" {
			break
		}
		page.After = next
	}
	require.Equal(t, []string{"e", "d", "c", "b", "a"}, got)

	views, _, err := b.service.List(ctx, b.scope, subject.Filter{Status: "revoked"}, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Len(t, views, 1)
	require.Equal(t, "b", views[0].ExternalID)
	views, _, err = b.service.List(ctx, b.scope, subject.Filter{Enrollment: "enrolled"}, pg.Page{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, views)
}

func TestFreezeStopsAndResumesAdaptation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	b.create(t, "user-1")
	for _, frozen := range []bool{true, true, false} { // the second changes nothing
		v, err := b.service.Freeze(ctx, b.principal, "user-1", frozen, "suspected misuse")
		require.NoError(t, err)
		require.Equal(t, frozen, v.AdaptationFrozen)
	}
	require.Equal(t, []string{"subject.created", "subject.adaptation_changed", "subject.adaptation_changed"}, b.events(t))
	require.Empty(t, b.texts(t, "select id from events where data::text like '%suspected%'"), "only the digest of a reason is stored")
}

func TestRevokeEndsProofsAndTokensButNotChallenges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	v := b.create(t, "user-1")
	s := b.seed(t, v.Subject)
	b.clock.Advance(time.Minute)
	for range 2 { // the second changes nothing
		after, err := b.service.Revoke(ctx, b.principal, "user-1", "left the company")
		require.NoError(t, err)
		require.Equal(t, models.SubjectRevoked, after.Status)
		require.Equal(t, b.clock.Now(), after.RevokedAt.UTC())
	}
	require.Equal(t, []string{"revoked"}, b.texts(t, "select status from proofs where jti = $1", s.proof))
	require.Equal(t, []string{"open"}, b.texts(t, "select status from challenges where id = $1", s.challenge))
	require.Empty(t, b.texts(t, "select id from client_tokens where revoked_at is null"))
	require.ElementsMatch(t, []string{"subject.created", "list.created", "list.changed", "subject.revoked", "proof.revoked", "client_token.revoked", "session.ended", "standing.ended"}, b.events(t))
	require.Equal(t, []string{"1"}, b.texts(t, "select data->>'proofs_revoked' from events where type = 'subject.revoked'"))
}

// research returns an enabled research service, with research switched on for the environment.
func (b *bundle) research(t *testing.T) *research.Service {
	t.Helper()
	b.exec(t, "update environments set research_enabled = true where id = $1", b.env.ID)
	return research.New(b.store, b.keys, true)
}

func TestSetConsentRecordsAndWithdrawalRemovesVectors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	v := b.create(t, "user-1")
	other := b.create(t, "user-2")
	keep := func(uid string) bool {
		kept, err := b.research(t).Save(ctx, b.store.Q, b.scope, research.Vector{SubjectUID: uid, DeviceClass: "desktop", Data: vector(t), At: b.clock.Now()})
		require.NoError(t, err)
		return kept
	}
	require.False(t, keep(v.UID), "no consent, no vector")
	for _, id := range []string{"user-1", "user-2"} {
		c, err := b.service.SetConsent(ctx, b.principal, id, true)
		require.NoError(t, err)
		require.True(t, c.Consented)
		require.Equal(t, b.clock.Now(), c.RecordedAt)
	}
	require.True(t, keep(v.UID))
	require.True(t, keep(v.UID))
	require.True(t, keep(other.UID))

	b.clock.Advance(time.Second)
	_, err := b.service.SetConsent(ctx, b.principal, "user-1", false)
	require.NoError(t, err)
	require.Len(t, b.texts(t, "select id from research_vectors"), 1, "the other subject's vector stays")
	require.False(t, keep(v.UID))
	require.Equal(t, []string{"2"}, b.texts(t, "select data->>'vectors_removed' from events where type = 'subject.consent_changed' and data->>'consented' = 'false'"))
	require.Equal(t, []string{"true", "false"}, b.texts(t,
		"select consented::text from research_consents where subject_uid = $1 order by recorded_at", v.UID))
}

// A vector that is stored while the consent is withdrawn is either deleted by the withdrawal or rejected.
func TestConcurrentWithdrawalLeavesNoVector(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	v, keeper := b.create(t, "user-1"), b.research(t)
	for range 20 {
		_, err := b.service.SetConsent(ctx, b.principal, "user-1", true)
		require.NoError(t, err)
		done := make(chan error)
		for range 3 {
			go func() {
				_, err := keeper.Save(ctx, b.store.Q, b.scope, research.Vector{SubjectUID: v.UID, DeviceClass: "desktop", Data: vector(t), At: b.clock.Now()})
				done <- err
			}()
		}
		_, err = b.service.SetConsent(ctx, b.principal, "user-1", false)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, <-done)
		}
		require.Empty(t, b.texts(t, "select id from research_vectors"))
	}
}
