package identity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

func TestIssueChecksPermissions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	some := models.Permissions{models.PermissionDecide, models.PermissionVerify}
	for name, c := range map[string]struct {
		scope models.Scope
		asked models.Permissions
		want  models.Permissions
		fault string
	}{
		"omitted":               {models.ScopeServer, nil, nil, ""},
		"some":                  {models.ScopeServer, some, some, ""},
		"in the standard order": {models.ScopeAdmin, models.Permissions{models.PermissionVerify, models.PermissionDecide, models.PermissionVerify}, some, ""},
		"none":                  {models.ScopeServer, models.Permissions{}, nil, "permissions is empty"},
		"unknown":               {models.ScopeServer, models.Permissions{"everything"}, nil, `"everything"`},
		"of admin keys":         {models.ScopeServer, models.Permissions{models.PermissionAudit}, nil, "audit"},
		"of a publishable key":  {models.ScopeClient, some, nil, "decide"},
		"nil of a publishable":  {models.ScopeClient, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issued, err := b.Issue(t.Context(), b.scope, Issue{Scope: c.scope, Permissions: c.asked}, "cli:test", "")
			if c.fault != "" {
				p := problem.As(err)
				require.NotNil(t, p)
				require.Equal(t, []any{"body", "permissions"}, p.Fields[0].Loc)
				require.Contains(t, p.Fields[0].Msg, c.fault)
				return
			}
			require.NoError(t, err)
			rotated, err := b.Rotate(t.Context(), b.scope, Rotation{ID: issued.ID, Overlap: time.Hour}, "cli:test", "")
			require.NoError(t, err)
			for _, key := range []string{issued.Key, rotated.Key} {
				p, err := b.Authenticate(t.Context(), key)
				require.NoError(t, err)
				require.Equal(t, c.want, p.Permissions)
			}
		})
	}
}

// Whatever keys are issued, one by the other, none has a scope or a permission that the first does not have.
func TestPropertyNoKeyIssuesMoreThanItself(t *testing.T) {
	t.Parallel()
	scopes := rapid.SampledFrom([]models.Scope{models.ScopeServer, models.ScopeAdmin})
	rapid.Check(t, func(t *rapid.T) {
		set := func(label string) models.Permissions {
			if rapid.IntRange(0, 4).Draw(t, label+" all") == 0 {
				return nil
			}
			return models.Permissions(rapid.SliceOfNDistinct(rapid.SampledFrom(models.AllPermissions), 1, 4, rapid.ID).Draw(t, label))
		}
		first := Principal{Scope: scopes.Draw(t, "scope"), Permissions: set("first")}
		holder := first
		for range rapid.IntRange(1, 4).Draw(t, "keys") {
			next := Principal{Scope: scopes.Draw(t, "next scope"), Permissions: set("next")}
			if holder.mayIssue(next.Scope, next.Permissions) != nil {
				continue
			}
			holder = next
			require.True(t, first.Scope == models.ScopeAdmin || holder.Scope == models.ScopeServer)
			for _, x := range append(models.Permissions{"of a later version"}, models.AllPermissions...) {
				require.True(t, first.Permissions.Has(x) || !holder.Permissions.Has(x), "%s was gained", x)
			}
		}
		require.NoError(t, holder.mayIssue(holder.Scope, holder.Permissions), "a key may issue one like itself")
	})
}

func TestClientTokenDoesNotExceedItsIssuer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	issuer := func(permissions ...models.Permission) Principal {
		issued, err := b.Issue(t.Context(), b.scope, Issue{Scope: models.ScopeServer, Permissions: permissions}, "cli:test", "")
		require.NoError(t, err)
		p, err := b.Authenticate(t.Context(), issued.Key)
		require.NoError(t, err)
		return p
	}
	narrow, wide := issuer(models.PermissionEvidence), issuer(models.PermissionEvidence, models.PermissionEnroll)
	for name, c := range map[string]struct {
		by       Principal
		purposes []string
		refused  bool
	}{
		"score":                  {narrow, []string{PurposeScore}, false},
		"enroll":                 {narrow, []string{PurposeEnroll}, true},
		"both":                   {narrow, []string{PurposeScore, PurposeEnroll}, true},
		"both by omission":       {narrow, nil, true},
		"enroll with permission": {wide, []string{PurposeEnroll}, false},
		"both with permission":   {wide, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, _, err := b.ClientToken(t.Context(), c.by, TokenRequest{Subject: b.subject, Origin: "https://app.example.com", TTL: time.Hour, Purposes: c.purposes})
			if c.refused {
				require.True(t, problem.Is(err, problem.InsufficientScope))
				require.Contains(t, problem.As(err).Detail, "enroll")
				return
			}
			require.NoError(t, err)
			token, err := b.Authenticate(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, c.by.Permissions, token.Permissions)
		})
	}
}
