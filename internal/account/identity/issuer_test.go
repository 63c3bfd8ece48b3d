package identity

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

type bundle struct {
	*Service
	clock   *clock.Fake
	scope   pg.Scope
	subject models.Subject
}

func setup(t *testing.T) *bundle {
	t.Helper()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	st, c := storetest.New(t), clock.NewFake(storetest.Epoch)
	env := storetest.Environment(t, st, models.Sandbox)
	return &bundle{New(st, keys, c), c, storetest.Scope(env), storetest.Subject(t, st, env, "ada")}
}

// issue issues a server key, and a client token with that key.
func (b *bundle) issue(t *testing.T, expires *time.Time, in TokenRequest) (Issued, string) {
	t.Helper()
	issued, err := b.Issue(t.Context(), b.scope, Issue{Scope: models.ScopeServer, ExpiresAt: expires}, "cli:test", "")
	require.NoError(t, err)
	p, err := b.Authenticate(t.Context(), issued.Key)
	require.NoError(t, err)
	in.Subject, in.Origin, in.TTL = b.subject, "https://app.example.com", time.Hour
	key, _, err := b.ClientToken(t.Context(), p, in)
	require.NoError(t, err)
	return issued, key
}

func (b *bundle) holds(t *testing.T, key string) bool {
	t.Helper()
	_, err := b.Authenticate(t.Context(), key)
	if err != nil {
		require.True(t, problem.Is(err, problem.Unauthenticated), "%v", err)
	}
	return err == nil
}

func TestClientTokenExpiresWithItsIssuer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	soon := b.clock.Now().Add(10 * time.Minute)
	_, short := b.issue(t, &soon, TokenRequest{})
	issuer, token := b.issue(t, nil, TokenRequest{})
	require.True(t, b.holds(t, short))
	b.clock.Advance(10 * time.Minute)
	require.False(t, b.holds(t, short), "the issuer has expired")
	require.True(t, b.holds(t, token))
	_, err := b.Rotate(t.Context(), b.scope, Rotation{ID: issuer.ID}, "cli:test", "")
	require.NoError(t, err)
	require.True(t, b.holds(t, token), "a rotation replaces the key, not the credential")
	require.NoError(t, b.Revoke(t.Context(), b.scope, Revocation{ID: issuer.ID}, "cli:test", ""))
	require.False(t, b.holds(t, token), "the issuer is revoked")
}

// A replica that missed the notification of a revocation rejects the token when its cache entry expires.
func TestClientTokenIsRejectedWithoutANotification(t *testing.T) {
	t.Parallel()
	b := setup(t)
	issuer, token := b.issue(t, nil, TokenRequest{})
	deaf := New(b.store, b.keys, b.clock)
	_, err := deaf.Authenticate(t.Context(), token)
	require.NoError(t, err)
	require.NoError(t, b.Revoke(t.Context(), b.scope, Revocation{ID: issuer.ID}, "cli:test", ""))
	b.clock.Advance(cacheFor + time.Millisecond)
	_, err = deaf.Authenticate(t.Context(), token)
	require.True(t, problem.Is(err, problem.Unauthenticated))
}

// The result of a lookup that began before Forget is not cached after it.
func TestForgetDiscardsConcurrentLookups(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lookup := func(during func()) (until time.Time) {
		_, err := b.cache.Fetch(t.Context(), "mac", b.clock.Now().Add(cacheFor), func(context.Context) (cached, error) {
			during()
			return cached{principal: Principal{CredentialID: "crd_1"}}, nil
		})
		require.NoError(t, err)
		_, until = b.cache.Get("mac")
		return until
	}
	require.Zero(t, lookup(func() { b.Forget("crd_1") }))
	require.Zero(t, lookup(func() { b.Forget("crd_2") }))
	require.NotZero(t, lookup(func() {}))
}

// A lookup may have read the key before it was revoked. A request that comes after the revocation does not wait for its result.
func TestLookupBeforeARevocationIsNotShared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	issued, err := b.Issue(t.Context(), b.scope, Issue{Scope: models.ScopeServer}, "cli:test", "")
	require.NoError(t, err)
	k := b.Read([]byte(issued.Key))
	begun, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_, _ = b.cache.Fetch(t.Context(), string(k.mac), b.clock.Now().Add(cacheFor), func(ctx context.Context) (cached, error) {
			close(begun)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return cached{principal: Principal{CredentialID: issued.ID}}, nil
		})
	})
	<-begun
	require.NoError(t, b.Revoke(t.Context(), b.scope, Revocation{ID: issued.ID}, "cli:test", ""))
	require.False(t, b.holds(t, issued.Key))
	close(release)
	all.Wait()
}

func TestClientGrantRestrictsPurposesAndSessions(t *testing.T) {
	t.Parallel()
	any := ClientGrant{SubjectUID: "sub_1"}
	require.True(t, any.Permits(PurposeScore) && any.Permits(PurposeEnroll))
	require.False(t, any.Names(PurposeEnroll), "an empty list names no purpose")
	require.True(t, any.Reaches("sub_1", "ses_1"))
	require.False(t, any.Reaches("sub_2", "ses_1"))
	narrow := ClientGrant{SubjectUID: "sub_1", SessionID: "ses_1", Purposes: []string{PurposeScore}}
	require.True(t, narrow.Permits(PurposeScore))
	require.False(t, narrow.Permits(PurposeEnroll))
	require.True(t, narrow.Reaches("sub_1", "ses_1"))
	require.False(t, narrow.Reaches("sub_1", "ses_2"))
	require.False(t, narrow.Reaches("sub_2", "ses_1"))
}

func TestStillValidComparesTheKeyWithItsState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	soon := b.clock.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		expires *time.Time
		change  func(*testing.T, Issued)
		want    bool
	}{
		"unchanged":              {nil, func(*testing.T, Issued) {}, true},
		"unchanged, with an end": {&soon, func(*testing.T, Issued) {}, true},
		"revoked": {nil, func(t *testing.T, i Issued) {
			require.NoError(t, b.Revoke(t.Context(), b.scope, Revocation{ID: i.ID}, "cli:test", ""))
		}, false},
		"rotated, in the overlap": {nil, func(t *testing.T, i Issued) {
			_, err := b.Rotate(t.Context(), b.scope, Rotation{ID: i.ID, Overlap: time.Hour}, "cli:test", "")
			require.NoError(t, err)
		}, false},
	} {
		issued, err := b.Issue(t.Context(), b.scope, Issue{Scope: models.ScopeServer, ExpiresAt: c.expires}, "cli:test", "")
		require.NoError(t, err, name)
		p, err := b.Authenticate(t.Context(), issued.Key)
		require.NoError(t, err, name)
		c.change(t, issued)
		holds, err := b.StillValid(t.Context(), p)
		require.NoError(t, err, name)
		require.Equal(t, c.want, holds, name)
	}
}
