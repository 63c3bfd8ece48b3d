package signin

import (
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tally"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/console/shell"
)

func (c *Pages) signInPage(v *shell.Visit) error {
	to := shell.Next(v.Query("next"))
	if _, err := c.People.Authenticate(v.Context, c.Router.Cookie(v.Ctx, shell.CookieName), staff.FromPerson); err == nil {
		return v.Redirect(to, fiber.StatusSeeOther)
	}
	providers, err := c.listedProviders(v, to)
	if err != nil {
		return err
	}
	return c.Router.Render(v.Ctx, fiber.StatusOK, web.Page{
		Template: "signin.html", Title: "Sign in to the console", Script: "console.js", Style: "console.css",
		Data: signInData{Next: to, Providers: providers},
	})
}

func (c *Pages) signInOptions(v *shell.Visit) error {
	options, err := c.People.SignInOptions()
	if err != nil {
		return err
	}
	return c.Router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"publicKey": options})
}

// ceremony is the body of the script's passkey requests.
type ceremony struct {
	Token      string          `json:"token"` // of an invitation
	Credential json.RawMessage `json:"credential"`
	Next       string          `json:"next"`
}

func (c *Pages) signIn(v *shell.Visit) error {
	in, err := web.Bind[ceremony](v.Ctx, shell.MaxCeremony)
	if err != nil {
		return err
	}
	opened, err := c.People.SignIn(v.Context, in.Credential, request.ID(v.Ctx))
	if err != nil {
		person := staff.Identified(err)
		c.Tally.SignInFailed(tally.SignIn{Tenant: person.TenantID, Person: person.ID}, request.ProblemOf(err).Code, request.ID(v.Ctx))
		return err
	}
	return c.enter(v, opened, shell.Next(in.Next))
}

// enter sets the session cookie and returns the next page to the script.
func (c *Pages) enter(v *shell.Visit, opened staff.Opened, to string) error {
	c.Router.SetCookie(v.Ctx, shell.CookieName, opened.Cookie, staff.SessionLife)
	return c.Router.JSON(v.Ctx, fiber.StatusOK, map[string]string{"next": to})
}

// signOut ends the session if there is one and deletes the cookie in any case.
func (c *Pages) signOut(v *shell.Visit) error {
	session, err := c.People.Authenticate(v.Context, c.Router.Cookie(v.Ctx, shell.CookieName), staff.FromPerson)
	switch {
	case err == nil:
		if err := c.People.SignOut(v.Context, session, request.ID(v.Ctx)); err != nil {
			return err
		}
	case !problem.Is(err, problem.Unauthenticated):
		return err
	}
	c.Router.DropCookie(v.Ctx, shell.CookieName)
	return v.Redirect(shell.Prefix+"/sign-in", fiber.StatusSeeOther)
}

// invitationPage is the same for every visitor: the token is in the fragment, which only the page's script reads.
func (c *Pages) invitationPage(v *shell.Visit) error {
	return c.Router.Render(v.Ctx, fiber.StatusOK, web.Page{
		Template: "invitation.html", Title: "Join the console", Script: "console.js", Style: "console.css",
	})
}

// invited describes an invitation to the page's script.
type invited struct {
	Name      string        `json:"name"`
	ExpiresAt string        `json:"expires_at"`
	Roles     []invitedRole `json:"roles"`
}

type invitedRole struct {
	Where string        `json:"where"`
	Roles []models.Role `json:"roles"`
}

func (c *Pages) look(v *shell.Visit) error {
	in, err := web.Bind[ceremony](v.Ctx, shell.MaxCeremony)
	if err != nil {
		return err
	}
	seen, err := c.People.ShowInvitation(v.Context, in.Token)
	if err != nil {
		return err
	}
	out := invited{Name: seen.Person.Name, ExpiresAt: apitime.Time(seen.ExpiresAt)}
	for _, g := range seen.Grants {
		out.Roles = append(out.Roles, invitedRole{Where: g.Environment.RPName + ", " + string(g.Environment.Kind), Roles: g.Roles})
	}
	return c.Router.JSON(v.Ctx, fiber.StatusOK, out)
}

func (c *Pages) invitationOptions(v *shell.Visit) error {
	in, err := web.Bind[ceremony](v.Ctx, shell.MaxCeremony)
	if err != nil {
		return err
	}
	options, err := c.People.RegistrationOptions(v.Context, in.Token)
	if err != nil {
		return err
	}
	return c.Router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"publicKey": options})
}

func (c *Pages) join(v *shell.Visit) error {
	in, err := web.Bind[ceremony](v.Ctx, shell.MaxCeremony)
	if err != nil {
		return err
	}
	opened, err := c.People.AcceptInvitation(v.Context, in.Token, in.Credential, request.ID(v.Ctx))
	if err != nil {
		return err
	}
	return c.enter(v, opened, shell.Prefix)
}

// confirmOptions returns the WebAuthn options if the passkey must be used again before a change.
func (c *Pages) confirmOptions(v *shell.Visit) error {
	// The last minute is reserved for the change to arrive.
	if c.Clock.Now().Sub(v.Session.ConfirmedAt) < staff.ConfirmationLife-time.Minute {
		return c.Router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"fresh": true})
	}
	options, err := c.People.ConfirmOptions(v.Context, v.Session)
	if err != nil {
		return err
	}
	return c.Router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"fresh": false, "publicKey": options})
}

func (c *Pages) confirm(v *shell.Visit) error {
	in, err := web.Bind[ceremony](v.Ctx, shell.MaxCeremony)
	if err != nil {
		return err
	}
	if err := c.People.Confirm(v.Context, v.Session, v.Grant.Environment.ID, in.Credential, request.ID(v.Ctx)); err != nil {
		return err
	}
	return c.Router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"fresh": true})
}
