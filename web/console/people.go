package console

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
)

const (
	cookieName = "console_session"
	// maxCeremony limits the body of a passkey ceremony, in bytes.
	maxCeremony = 32 << 10
)

// SessionCookie returns the name of the cookie that a signed-in person's browser sends to the service at the base URL.
func SessionCookie(baseURL string) string { return web.CookieName(cookieName, baseURL) }

// home redirects to the first environment in which the user has a role.
func (c *console) home(v *visit) error {
	if len(v.session.Grants) == 0 {
		return problem.New(problem.Forbidden, "You have no role in any environment.")
	}
	return v.Redirect(Prefix+"/"+v.session.Grants[0].Environment.ID, fiber.StatusSeeOther)
}

// start redirects to the first section that the user may see.
func (c *console) start(v *visit) error {
	for _, k := range sections {
		if v.may(k.right) {
			return v.back(k.path)
		}
	}
	return problem.NewNotFound()
}

func (c *console) signInPage(v *visit) error {
	to := next(v.query("next"))
	if _, err := c.People.Authenticate(v.ctx, c.router.Cookie(v.Ctx, cookieName), staff.FromPerson); err == nil {
		return v.Redirect(to, fiber.StatusSeeOther)
	}
	providers, err := c.listedProviders(v, to)
	if err != nil {
		return err
	}
	return c.router.Render(v.Ctx, fiber.StatusOK, web.Page{
		Template: "signin.html", Title: "Sign in to the console", Script: "console.js", Style: "console.css",
		Data: signInData{Next: to, Providers: providers},
	})
}

func (c *console) signInOptions(v *visit) error {
	options, err := c.People.SignInOptions()
	if err != nil {
		return err
	}
	return c.router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"publicKey": options})
}

// ceremony is the body of the script's passkey requests.
type ceremony struct {
	Token      string          `json:"token"` // of an invitation
	Credential json.RawMessage `json:"credential"`
	Next       string          `json:"next"`
}

func (c *console) signIn(v *visit) error {
	in, err := web.Bind[ceremony](v.Ctx, maxCeremony)
	if err != nil {
		return err
	}
	opened, err := c.People.SignIn(v.ctx, in.Credential, request.ID(v.Ctx))
	if err != nil {
		person := staff.Identified(err)
		c.Tally.SignInFailed(tally.SignIn{Tenant: person.TenantID, Person: person.ID}, request.ProblemOf(err).Code, request.ID(v.Ctx))
		return err
	}
	return c.enter(v, opened, next(in.Next))
}

// enter sets the session cookie and returns the next page to the script.
func (c *console) enter(v *visit, opened staff.Opened, to string) error {
	c.router.SetCookie(v.Ctx, cookieName, opened.Cookie, staff.SessionLife)
	return c.router.JSON(v.Ctx, fiber.StatusOK, map[string]string{"next": to})
}

// signOut ends the session if there is one and deletes the cookie in any case.
func (c *console) signOut(v *visit) error {
	session, err := c.People.Authenticate(v.ctx, c.router.Cookie(v.Ctx, cookieName), staff.FromPerson)
	switch {
	case err == nil:
		if err := c.People.SignOut(v.ctx, session, request.ID(v.Ctx)); err != nil {
			return err
		}
	case !problem.Is(err, problem.Unauthenticated):
		return err
	}
	c.router.DropCookie(v.Ctx, cookieName)
	return v.Redirect(Prefix+"/sign-in", fiber.StatusSeeOther)
}

// invitationPage is the same for every visitor: the token is in the fragment, which only the page's script reads.
func (c *console) invitationPage(v *visit) error {
	return c.router.Render(v.Ctx, fiber.StatusOK, web.Page{
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

func (c *console) look(v *visit) error {
	in, err := web.Bind[ceremony](v.Ctx, maxCeremony)
	if err != nil {
		return err
	}
	seen, err := c.People.ShowInvitation(v.ctx, in.Token)
	if err != nil {
		return err
	}
	out := invited{Name: seen.Person.Name, ExpiresAt: apitime.Time(seen.ExpiresAt)}
	for _, g := range seen.Grants {
		out.Roles = append(out.Roles, invitedRole{Where: g.Environment.RPName + ", " + string(g.Environment.Kind), Roles: g.Roles})
	}
	return c.router.JSON(v.Ctx, fiber.StatusOK, out)
}

func (c *console) invitationOptions(v *visit) error {
	in, err := web.Bind[ceremony](v.Ctx, maxCeremony)
	if err != nil {
		return err
	}
	options, err := c.People.RegistrationOptions(v.ctx, in.Token)
	if err != nil {
		return err
	}
	return c.router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"publicKey": options})
}

func (c *console) join(v *visit) error {
	in, err := web.Bind[ceremony](v.Ctx, maxCeremony)
	if err != nil {
		return err
	}
	opened, err := c.People.AcceptInvitation(v.ctx, in.Token, in.Credential, request.ID(v.Ctx))
	if err != nil {
		return err
	}
	return c.enter(v, opened, Prefix)
}

// confirmOptions returns the WebAuthn options if the passkey must be used again before a change.
func (c *console) confirmOptions(v *visit) error {
	// The last minute is reserved for the change to arrive.
	if c.Clock.Now().Sub(v.session.ConfirmedAt) < staff.ConfirmationLife-time.Minute {
		return c.router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"fresh": true})
	}
	options, err := c.People.ConfirmOptions(v.ctx, v.session)
	if err != nil {
		return err
	}
	return c.router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"fresh": false, "publicKey": options})
}

func (c *console) confirm(v *visit) error {
	in, err := web.Bind[ceremony](v.Ctx, maxCeremony)
	if err != nil {
		return err
	}
	if err := c.People.Confirm(v.ctx, v.session, v.grant.Environment.ID, in.Credential, request.ID(v.Ctx)); err != nil {
		return err
	}
	return c.router.JSON(v.Ctx, fiber.StatusOK, map[string]any{"fresh": true})
}
