package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/local/dev"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// environmentOf finds the environment that --tenant and --environment name, as environmentHelp says. With neither it is the only
// environment there is. The command line has no tenant to restrict it to.
func environmentOf(cmd *cobra.Command, c *core, tenant, environment string) (pg.Scope, error) {
	envs, err := tenancy.ListEnvironments(cmd.Context(), c.Store.Q, tenant)
	if err != nil {
		return pg.Scope{}, err
	}
	tenants := map[string]string{} // names by id
	if strings.Contains(environment, "/") {
		if tenants, err = tenantNames(cmd.Context(), c.Store.Q); err != nil {
			return pg.Scope{}, err
		}
	}
	found := slices.DeleteFunc(slices.Clone(envs), func(e models.Environment) bool {
		return environment != "" && !slices.Contains([]string{e.ID, string(e.Kind), e.TenantID + "/" + string(e.Kind), tenants[e.TenantID] + "/" + string(e.Kind)}, environment)
	})
	if own := ownTenant(cmd, c); len(found) > 1 && own != "" {
		found = slices.DeleteFunc(found, func(e models.Environment) bool { return e.TenantID != own })
	}
	switch {
	case len(found) == 1:
		return pg.Scope{Tenant: found[0].TenantID, Environment: found[0].ID}, nil
	case len(envs) == 0:
		return pg.Scope{}, usage("there is no environment%s: countersign tenant create makes a tenant with two", ofTenant(tenant))
	case environment == "":
		return pg.Scope{}, usage("--environment is not set: give %s", choices(found))
	case len(found) > 1:
		return pg.Scope{}, usage("there are %d environments %q: give %s", len(found), environment, choices(found))
	default:
		return pg.Scope{}, usage("there is no environment %q%s: give %s", environment, ofTenant(tenant), choices(envs))
	}
}

// ownTenant returns the developer's tenant if the database is that of make run, which has one for visitors of /try too.
func ownTenant(cmd *cobra.Command, c *core) string {
	dir, err := cmd.Flags().GetString("dir")
	if err != nil {
		return ""
	}
	if state, err := dev.ReadState(dir); err == nil && state.DatabaseURL == c.DatabaseURL {
		return state.Tenant
	}
	return ""
}

func tenantNames(ctx context.Context, q *pg.Q) (map[string]string, error) {
	rows, err := tenancy.ListTenants(ctx, q)
	names := map[string]string{}
	for _, t := range rows {
		names[t.ID] = t.Name
	}
	return names, err
}

// choices lists environments for an error, at most six.
func choices(envs []models.Environment) string {
	const most = 6
	var out []string
	for _, e := range envs[:min(len(envs), most)] {
		out = append(out, fmt.Sprintf("%s (%s)", e.ID, e.Kind))
	}
	if len(envs) > most {
		out = append(out, "one that countersign tenant list shows")
	}
	return strings.Join(out, " or ")
}

func ofTenant(tenant string) string {
	if tenant == "" {
		return ""
	}
	return " of tenant " + tenant
}
