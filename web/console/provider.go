package console

import (
	"cmp"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/sso"
	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/account/tally"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/web"
)

const (
	// maxLogoutToken limits a logout token, in bytes.
	maxLogoutToken = 16 << 10
	// maxReturned limits each parameter that a provider sends back through the browser, in bytes.
	maxReturned = 4 << 10
)

// signInData is the data of the sign-in page.
type signInData struct {
	Next      string // page to open afterwards
	Providers []item
}

// listedProviders returns the identity providers that the sign-in page shows, with the addresses that begin a sign-in.
func (c *console) listedProviders(v *visit, to string) ([]item, error) {
	rows, err := c.SSO.Listed(v.ctx)
	if err != nil {
		return nil, err
	}
	out := make([]item, len(rows))
	for i, p := range rows {
		out[i] = item{Label: p.Label, URL: sso.Path(p.TenantID, p.Name) + "?next=" + url.QueryEscape(to)}
	}
	return out, nil
}

// providerStart sends the browser to the identity provider. It is a link and no form, because the page's policy lets forms lead to
// this origin only.
func (c *console) providerStart(v *visit) error {
	begun, err := c.SSO.Begin(v.ctx, v.param("tenant"), v.param("provider"), next(v.query("next")))
	if err != nil {
		return c.refused(v, err)
	}
	for _, name := range c.SSO.Surplus(c.router.Cookies(v.Ctx, sso.FlowCookie)) {
		c.router.DropCookie(v.Ctx, name)
	}
	c.router.SetReturnCookie(v.Ctx, begun.Name, begun.Cookie, sso.FlowLife)
	return v.Redirect(begun.URL, fiber.StatusSeeOther)
}

// providerCallback completes the sign-in. The page that follows is opened by the browser itself: the request came from the
// provider's site, so a redirect would carry no session cookie. Only the sign-in that the state names ends: anyone can make a browser open
// the callback with a state of their own.
func (c *console) providerCallback(v *visit) error {
	in := sso.Callback{State: v.query("state"), Code: v.query("code"), Issuer: v.query("iss"), Error: v.query("error")}
	flow := sso.CookieOf(in.State)
	if in.Cookie = c.router.Cookie(v.Ctx, flow); in.Cookie != "" {
		c.router.DropCookie(v.Ctx, flow)
	}
	if max(len(in.State), len(in.Code), len(in.Issuer), len(in.Error)) > maxReturned {
		return problem.Newf(problem.BadRequest, "A parameter of the identity provider's response is longer than %d bytes.", maxReturned)
	}
	done, err := c.SSO.Finish(v.ctx, v.param("tenant"), v.param("provider"), in, request.ID(v.Ctx))
	if err != nil {
		if by := done.Provider; by.ID != "" {
			failed := tally.SignIn{Tenant: by.TenantID, IdentityProvider: by.ID, Person: staff.Identified(err).ID, Reason: string(sso.ReasonOf(err))}
			c.Tally.SignInFailed(failed, request.ProblemOf(err).Code, request.ID(v.Ctx))
		}
		return c.refused(v, err)
	}
	c.router.SetCookie(v.Ctx, cookieName, done.Opened.Cookie, staff.SessionLife)
	to := cmp.Or(done.Next, Prefix)
	v.Set("Refresh", "0; url="+to)
	return c.router.Render(v.Ctx, fiber.StatusOK, web.Page{Template: "onward.html", Title: "One moment", Data: to})
}

// providerLogout is the back-channel logout of an identity provider (OpenID Connect Back-Channel Logout 1.0, section 2.5).
func (c *console) providerLogout(v *visit) error {
	v.Set(fiber.HeaderCacheControl, "no-store")
	raw := v.form("logout_token")
	if raw == "" || len(raw) > maxLogoutToken {
		return problem.Newf(problem.BadRequest, "logout_token is missing or longer than %d bytes.", maxLogoutToken)
	}
	err := c.SSO.Logout(v.ctx, v.param("tenant"), v.param("provider"), raw, request.ID(v.Ctx))
	reason := sso.ReasonOf(err)
	switch {
	case err == nil:
		return v.SendStatus(fiber.StatusOK)
	case reason == "" || reason == sso.ReasonUnreachable:
		return err
	}
	c.logRefusal(v, reason)
	return c.router.JSON(v.Ctx, fiber.StatusBadRequest, map[string]string{"error": "invalid_request", "error_description": string(reason)})
}

// firstPasskey invites the user to register their first passkey and opens the invitation.
func (c *console) firstPasskey(v *visit) error {
	in, err := c.People.FirstPasskey(v.ctx, v.session, request.ID(v.Ctx))
	if err != nil {
		return err
	}
	return v.Redirect(in.URL, fiber.StatusSeeOther)
}

// refused logs why a sign-in was refused, which only the reason says: the cause may quote what the provider sent.
func (c *console) refused(v *visit, err error) error {
	if reason := sso.ReasonOf(err); reason != "" {
		c.logRefusal(v, reason)
	}
	return err
}

func (c *console) logRefusal(v *visit, reason sso.Reason) {
	c.Log.WarnContext(v.ctx, "identity provider refused", "request_id", request.ID(v.Ctx), "reason", string(reason))
}
