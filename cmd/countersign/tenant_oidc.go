package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func tenantOIDCCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "oidc", Short: "Let a tenant's staff sign in to the console with the company's identity provider", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(oidcAddressesCommand(), oidcSetCommand(), oidcListCommand(), oidcCheckCommand(), oidcRemoveCommand())
	return cmd
}

// oidcFlags are the flags that the commands about a tenant's identity providers share.
type oidcFlags struct {
	settings
	tenant, name string
	more         []setting // further settings
}

// command makes a command on one tenant, and with named on one of its identity providers.
func (f *oidcFlags) command(use, short string, named bool, do func(cmd *cobra.Command, c *core, tenant string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if f.baseURL == "" {
			return usage("COUNTERSIGN_BASE_URL is not set: the addresses of the sign-in begin with it")
		}
		c, err := openCLI(cmd.Context(), &f.settings)
		if err != nil {
			return err
		}
		defer c.Close()
		tenant, err := tenantOf(cmd, c, f.tenant)
		if err != nil {
			return err
		}
		return do(cmd, c, tenant)
	}}
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "id of the tenant (tnt_...); not needed if there is one")
	if named {
		cmd.Flags().StringVar(&f.name, "name", "company", "name of the identity provider in addresses: lower-case letters, digits and hyphens")
	}
	bindCore(cmd, &f.settings, append(f.more, f.providers(), f.webhooks())...)
	return cmd
}

// tenantOf returns the tenant with the id, or the only one.
func tenantOf(cmd *cobra.Command, c *core, id string) (string, error) {
	tenants, err := tenancy.ListTenants(cmd.Context(), c.Store.Q)
	if err != nil {
		return "", err
	}
	found := slices.DeleteFunc(tenants, func(t models.Tenant) bool { return id != "" && t.ID != id })
	switch {
	case len(found) == 1:
		return found[0].ID, nil
	case id == "":
		return "", usage("--tenant is not set and there are %d tenants: countersign tenant list shows them", len(found))
	default:
		return "", usage("there is no tenant %q: countersign tenant list shows them", id)
	}
}

func oidcAddressesCommand() *cobra.Command {
	var f oidcFlags
	return f.command("addresses", "Print the addresses to register at the identity provider", true, func(cmd *cobra.Command, c *core, tenant string) error {
		return printAddresses(cmd.OutOrStdout(), c, tenant, f.name)
	})
}

func printAddresses(w io.Writer, c *core, tenant, name string) error {
	a := c.SSO.AddressesOf(tenant, name)
	_, err := fmt.Fprintf(w, "redirect URI             %s\nback-channel logout URI  %s\nsign-in link for staff   %s\n", a.Callback, a.Logout, a.SignIn)
	return err
}

func oidcSetCommand() *cobra.Command {
	var f oidcFlags
	var in sso.Settings
	var groups []string
	var secretFile string
	cmd := f.command("set", "Set up an identity provider, or replace its settings; its people sign in again", true, func(cmd *cobra.Command, c *core, tenant string) error {
		in.Name = f.name
		if secretFile != "" {
			raw, err := readSecret(cmd, secretFile)
			if err != nil {
				return err
			}
			in.ClientSecret = raw
		}
		var err error
		if in.Grants, err = parseGroups(cmd, c, tenant, groups); err != nil {
			return err
		}
		p, err := c.SSO.Set(cmd.Context(), tenant, in, actor(cmd))
		if err != nil {
			return err
		}
		if err := c.Directories.Apply(cmd.Context(), tenant, actor(cmd)); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", p.ID)
		return printAddresses(cmd.OutOrStdout(), c, tenant, f.name)
	})
	cmd.Flags().StringVar(&in.Issuer, "issuer", "", "issuer of the provider, exactly as its metadata names it, such as https://login.company.example")
	cmd.Flags().StringVar(&in.ClientID, "client-id", "", "id of the client that the provider registered for Countersign")
	cmd.Flags().StringVar(&secretFile, "client-secret-file", "", "file with the client secret, - for standard input; not needed again later")
	cmd.Flags().StringVar(&in.Label, "label", "", "text of the button on the sign-in page, after \"Sign in with\"; empty for the name")
	cmd.Flags().StringVar(&in.GroupsClaim, "groups-claim", "groups", "claim of the ID token or of the userinfo response that lists a person's groups")
	cmd.Flags().StringSliceVar(&in.Scopes, "scope", nil, "scope to request besides openid and profile, such as groups; repeatable")
	cmd.Flags().StringArrayVar(&groups, "group", nil, "group with its roles in an environment, and the teams that a directory (scim) makes its members join, such as payments-leads=live:reviewer,team:finance; repeatable")
	cmd.Flags().BoolVar(&in.Listed, "listed", false, "show a button on the console's sign-in page, which all tenants share")
	return cmd
}

// maxSecretFile limits the file of a secret or of a certificate with its chain, in bytes.
const maxSecretFile = 64 << 10

func readSecret(cmd *cobra.Command, file string) (string, error) {
	from := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file) //nolint:gosec // the file that the operator names
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxSecretFile))
	return strings.TrimSpace(string(raw)), err
}

// parseGroups parses the --group flags. The name of a group may contain = (a distinguished name does), so the last one separates.
func parseGroups(cmd *cobra.Command, c *core, tenant string, groups []string) ([]models.ProviderGrant, error) {
	var out []models.ProviderGrant
	for _, text := range groups {
		i := strings.LastIndexByte(text, '=')
		environment, roles, ok := strings.Cut(text[i+1:], ":")
		if i < 1 || !ok || environment == "" {
			return nil, usage("--group is %q: want GROUP=ENVIRONMENT:ROLE,team:KEY, such as payments-leads=live:reviewer,team:finance", text)
		}
		scope, err := environmentOf(cmd, c, tenant, environment)
		if err != nil {
			return nil, err
		}
		g := models.ProviderGrant{Group: text[:i], Environment: scope.Environment}
		for _, r := range strings.Split(roles, ",") {
			if key, isTeam := strings.CutPrefix(r, "team:"); isTeam {
				g.Teams = append(g.Teams, key)
				continue
			}
			g.Roles = append(g.Roles, models.Role(r))
		}
		found, err := team.ByName(cmd.Context(), c.Store.Q, scope, g.Teams)
		if err != nil {
			return nil, err
		}
		if len(found) < len(g.Teams) {
			return nil, usage("--group is %q: the environment lacks one of the teams; countersign team list shows them", text)
		}
		out = append(out, g)
	}
	return out, nil
}

func oidcListCommand() *cobra.Command {
	var f oidcFlags
	return f.command("list", "List the tenant's identity providers with the groups that have roles", false, func(cmd *cobra.Command, c *core, tenant string) error {
		rows, err := c.SSO.List(cmd.Context(), tenant)
		if err != nil {
			return err
		}
		return table(cmd.OutOrStdout(), "NAME\tISSUER\tCLIENT\tGROUPS\tLISTED", func(w io.Writer) error {
			for _, p := range rows {
				groups, err := groupsOf(cmd, c, p)
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%t\n", p.Name, p.Issuer, p.ClientID, groups, p.Listed)
			}
			return nil
		})
	})
}

// groupsOf describes the groups of a provider as --group takes them.
func groupsOf(cmd *cobra.Command, c *core, p models.IdentityProvider) (string, error) {
	grants, err := p.GroupGrants()
	if err != nil {
		return "", err
	}
	var out []string
	for _, g := range grants {
		env, err := tenancy.GetEnvironment(cmd.Context(), c.Store.Q, pg.Scope{Tenant: p.TenantID, Environment: g.Environment})
		if err != nil {
			return "", err
		}
		var roles []string
		for _, r := range g.Roles {
			roles = append(roles, string(r))
		}
		for _, key := range g.Teams {
			roles = append(roles, "team:"+key)
		}
		out = append(out, g.Group+"="+string(env.Kind)+":"+strings.Join(roles, ","))
	}
	return strings.Join(out, " "), nil
}

func oidcCheckCommand() *cobra.Command {
	var f oidcFlags
	return f.command("check", "Fetch the identity provider's metadata and say what it supports", true, func(cmd *cobra.Command, c *core, tenant string) error {
		found, err := c.SSO.Probe(cmd.Context(), tenant, f.name)
		if err != nil {
			if cause := sso.CauseOf(err); cause != nil {
				return fmt.Errorf("%w: %w", err, cause)
			}
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "authorization endpoint  %s\ntoken endpoint          %s\nnames itself (RFC 9207)  %t\nback-channel logout      %t\n",
			found.AuthorizationURL, found.TokenURL, found.NamesIssuer, found.BackChannelLogout)
		return err
	})
}

func oidcRemoveCommand() *cobra.Command {
	var f oidcFlags
	return f.command("remove", "Remove an identity provider; its people lose their roles and sessions", true, func(cmd *cobra.Command, c *core, tenant string) error {
		return c.SSO.Remove(cmd.Context(), tenant, f.name, actor(cmd))
	})
}
