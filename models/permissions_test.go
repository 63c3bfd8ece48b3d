package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPermissionsCover(t *testing.T) {
	t.Parallel()
	decide := Permissions{PermissionDecide}
	for name, c := range map[string]struct {
		set, other Permissions
		want       bool
	}{
		"all covers all":                       {nil, nil, true},
		"all covers a list":                    {nil, decide, true},
		"all covers none":                      {nil, Permissions{}, true},
		"a list does not cover all":            {decide, nil, false},
		"the whole list does not, it may grow": {AllPermissions, nil, false},
		"none does not cover all":              {Permissions{}, nil, false},
		"a list covers itself":                 {decide, decide, true},
		"a list covers a part":                 {AllPermissions, decide, true},
		"a part does not cover a list":         {decide, AllPermissions, false},
		"none covers no permission":            {Permissions{}, decide, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.set.Covers(c.other))
		})
	}
}

func TestPermissionsAreStored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    Permissions
		stored any
	}{
		"all":  {nil, nil},
		"none": {Permissions{}, "{}"},
		"two":  {Permissions{PermissionPolicyWrite, PermissionAudit}, "{policy.write,audit}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored, err := c.set.Value()
			require.NoError(t, err)
			require.Equal(t, c.stored, stored)
			back := Permissions{PermissionDecide}
			require.NoError(t, back.Scan(stored))
			require.Equal(t, c.set, back)
		})
	}
}

func TestRolesHaveNoPermissionByMistake(t *testing.T) {
	t.Parallel()
	require.False(t, Role("nobody").Permissions().Has(PermissionAudit), "an unknown role has no permission")
	require.False(t, Permissions{}.Has(PermissionDecide))
	for _, r := range []Role{RoleReviewer, RoleOperator, RoleAuditor} {
		require.NotEmpty(t, r.Permissions())
		require.Equal(t, r == RoleOperator, r.Permissions().Has(PermissionCredentials), "only operators issue keys")
		require.False(t, r.Permissions().Has(PermissionDecide), "decisions are for programs")
	}
}

func TestIssuablePermissionsAreThoseOfProgramsAndOfOneself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		roles    []Role
		has, not Permissions
	}{
		"an operator":              {[]Role{RoleOperator}, Permissions{PermissionDecide, PermissionVerify, PermissionPolicyWrite}, Permissions{PermissionReview, PermissionAudit, PermissionDecisionsRead}},
		"an operator and reviewer": {[]Role{RoleOperator, RoleReviewer}, Permissions{PermissionReview, PermissionDecisionsRead}, Permissions{PermissionAudit}},
		"no role":                  {nil, Permissions{PermissionDecide}, Permissions{PermissionConfig, PermissionCredentials}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Issuable(c.roles)
			require.True(t, got.Covers(c.has))
			for _, x := range c.not {
				require.False(t, got.Has(x), x)
			}
			require.False(t, got.Covers(nil), "a key without a list could do everything")
		})
	}
}
