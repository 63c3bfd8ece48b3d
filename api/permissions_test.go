package api

import (
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/api/metrics"
	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// quiet returns the least that the middleware needs.
func quiet() middleware.Deps {
	return middleware.Deps{Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(prometheus.NewRegistry())}
}

func routeTable(t *testing.T) ([]middleware.Route, map[string]openapi.Operation) {
	t.Helper()
	chain, err := middleware.New(t.Context(), middleware.Config{}, quiet())
	require.NoError(t, err)
	documented := map[string]openapi.Operation{}
	for _, op := range chain.Contract().Operations() {
		documented[op.ID] = op
	}
	return newHandlers(Config{}, Deps{Deps: quiet()}, chain).routes(), documented
}

// ofFields are the permissions that no route requires, with the operations whose responses have a field that does.
var ofFields = map[models.Permission][]string{models.PermissionProofsRead: {"getAuthorization", "reviewAuthorization"}}

// Every route that requires a server or admin key requires exactly one permission, and the contract names the same.
func TestRoutesNameAPermission(t *testing.T) {
	t.Parallel()
	table, documented := routeTable(t)
	used := map[models.Permission]bool{}
	inServer := map[models.Permission]bool{}
	for _, r := range table {
		require.Equal(t, string(r.Permission), documented[r.Operation].Permission, r.Operation)
		if r.Access == middleware.AccessOpen || r.Access == middleware.AccessPublishable {
			require.Empty(t, r.Permission, "%s describes the service or the caller itself", r.Operation)
			continue
		}
		require.Contains(t, models.AllPermissions, r.Permission, r.Operation)
		used[r.Permission] = true
		inServer[r.Permission] = inServer[r.Permission] || r.Access != middleware.AccessAdmin
		if r.Method == get {
			require.NotContains(t, []models.Permission{models.PermissionDecide, models.PermissionPolicyWrite, models.PermissionPolicyActivate, models.PermissionConfig},
				r.Permission, "%s changes nothing", r.Operation)
		}
	}
	for x := range ofFields {
		used[x], inServer[x] = true, true
	}
	for _, x := range models.AllPermissions {
		require.True(t, used[x], "no route requires %s", x)
		require.Equal(t, inServer[x], x.Within(models.ScopeServer), "%s", x)
		require.True(t, x.Within(models.ScopeAdmin), "%s", x)
		require.False(t, x.Within(models.ScopeClient), "%s", x)
	}
}

// A route is allowed if and only if the scope allows it and the permission is in the set.
func TestPropertyPermissionsOnlyNarrowTheScope(t *testing.T) {
	t.Parallel()
	table, _ := routeTable(t)
	rapid.Check(t, func(t *rapid.T) {
		var set models.Permissions
		if rapid.Bool().Draw(t, "narrowed") {
			set = models.Permissions(rapid.SliceOfDistinct(rapid.SampledFrom(models.AllPermissions), rapid.ID).Draw(t, "permissions"))
		}
		p := identity.Principal{Scope: rapid.SampledFrom([]models.Scope{models.ScopeClient, models.ScopeServer, models.ScopeAdmin}).Draw(t, "scope"), Permissions: set}
		if p.Scope == models.ScopeClient {
			if rapid.Bool().Draw(t, "token") {
				p.Client = &identity.ClientGrant{}
			} else {
				p.Publishable = true
			}
		}
		for _, r := range table {
			err := r.Permits(p)
			inSet := r.Permission == "" || set == nil || slices.Contains(set, r.Permission)
			require.Equal(t, r.Access.Permits(p) && inSet, err == nil, r.Operation)
			if err != nil {
				require.True(t, problem.Is(err, problem.InsufficientScope))
			}
			if r.Access.Permits(p) && !inSet {
				require.Equal(t, "This operation requires the permission "+string(r.Permission)+".", problem.As(err).Detail)
			}
		}
	})
}

// docs/security.md lists each permission with its operations and the scopes that have them.
func TestPermissionsAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/security.md")
	require.NoError(t, err)
	table, _ := routeTable(t)
	operations, scopes := map[string][]string{}, map[string][]string{}
	for _, r := range table {
		if r.Permission == "" {
			continue
		}
		name, scope := string(r.Permission), "server, admin"
		if !r.Permission.Within(models.ScopeServer) {
			scope = "admin"
		}
		operations[name] = append(operations[name], r.Operation)
		scopes[name] = []string{scope}
	}
	for x, fields := range ofFields {
		operations[string(x)], scopes[string(x)] = fields, []string{"server, admin"}
	}
	listed := regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\| (admin|server, admin) \\| ([^|]*) \\| ([^|]*) \\|$").FindAllStringSubmatch(string(raw), -1)
	require.Len(t, listed, len(models.AllPermissions))
	for i, m := range listed {
		x := models.AllPermissions[i]
		require.Equal(t, string(x), m[1])
		require.Equal(t, scopes[m[1]], []string{m[2]}, m[1])
		names := strings.Split(strings.ReplaceAll(m[4], "`", ""), ", ")
		require.ElementsMatch(t, operations[m[1]], names, m[1])
		var roles []string
		for _, role := range []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor} {
			if role.Permissions().Has(x) {
				roles = append(roles, string(role))
			}
		}
		require.Equal(t, strings.Join(roles, ", "), strings.TrimSpace(strings.ReplaceAll(m[3], "-", "")), m[1])
	}
}
