package signin

import (
	"maps"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// providerRow is an identity provider in words.
type providerRow struct {
	models.IdentityProvider
	Addresses sso.Addresses
	Asks      string // the scopes
	Grants    []groupRow
	Test      string // URL of a test sign-in; empty without the right
	Changed   show.Stamp
}

// groupRow has the roles that a group of a provider gives in the environment of the page.
type groupRow struct{ Group, Roles string }

// providers lists the identity providers of the tenant with what each gives in the environment.
func (c *Pages) providers(v *shell.Visit) error {
	env := v.Grant.Environment
	rows, err := c.SSO.List(v.Context, env.TenantID)
	if err != nil {
		return err
	}
	now := show.Stamps{Now: c.Clock.Now()}
	out := make([]providerRow, len(rows))
	for i, p := range rows {
		out[i] = providerRow{IdentityProvider: p, Addresses: c.SSO.AddressesOf(env.TenantID, p.Name), Asks: strings.Join(p.Scopes, ", "), Changed: now.At(p.UpdatedAt)}
		if v.May(shell.ManageCredentials) {
			out[i].Test = v.At("single-sign-on", "test") + "?provider=" + p.Name
		}
		grants, err := p.GroupGrants()
		if err != nil {
			return err
		}
		for _, g := range grants {
			if g.Environment == env.ID {
				out[i].Grants = append(out[i].Grants, groupRow{g.Group, rolesText(g.Roles)})
			}
		}
	}
	return v.Page(fiber.StatusOK, "single-sign-on.html", "Single sign-on", "people", struct{ Providers []providerRow }{out})
}

func rolesText(roles []models.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}

// testProvider begins a test sign-in. It opens no session: the user stays who they are.
func (c *Pages) testProvider(v *shell.Visit) error {
	provider := v.Query("provider")
	if provider == "" {
		return v.Back("single-sign-on")
	}
	known, err := c.SSO.List(v.Context, v.Grant.Environment.TenantID)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(known, func(p models.IdentityProvider) bool { return p.Name == provider }) {
		return problem.NewNotFound()
	}
	begun, err := c.SSO.BeginTest(v.Context, v.Grant.Environment.TenantID, provider, v.At("single-sign-on"))
	return c.sendTo(v, begun, err)
}

// testedView describes the account of a test sign-in, as its provider does. The request comes from the provider's site and carries no session, so the
// page has no frame of the console.
type testedView struct {
	Label, Name, Subject, Address string
	Grants                        []groupRow // by environment, in place of the group
	Back                          string
}

func (c *Pages) showTested(v *shell.Visit, done sso.Finished) error {
	view := testedView{Label: done.Provider.Label, Name: done.Tested.Name, Subject: done.Tested.Subject, Address: done.Tested.Address, Back: done.Next}
	for _, environment := range slices.Sorted(maps.Keys(done.Tested.Roles)) {
		view.Grants = append(view.Grants, groupRow{environment, rolesText(done.Tested.Roles[environment])})
	}
	return c.Router.Render(v.Ctx, fiber.StatusOK, web.Page{Template: "tested.html", Title: "Test sign-in", Style: "console.css", Data: view})
}
