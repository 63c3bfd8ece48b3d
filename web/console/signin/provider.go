package signin

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
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
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
	Providers []show.Item
}

// listedProviders returns the identity providers that the sign-in page shows, with the addresses that begin a sign-in.
func (c *Pages) listedProviders(v *shell.Visit, to string) ([]show.Item, error) {
	rows, err := c.SSO.Listed(v.Context)
	if err != nil {
		return nil, err
	}
	out := make([]show.Item, len(rows))
	for i, p := range rows {
		out[i] = show.Item{Label: p.Label, URL: sso.Path(p.TenantID, p.Name) + "?next=" + url.QueryEscape(to)}
	}
	return out, nil
}

// providerStart sends the browser to the identity provider. It is a link and no form, because the page's policy lets forms lead to
// this origin only.
func (c *Pages) providerStart(v *shell.Visit) error {
	begun, err := c.SSO.Begin(v.Context, v.Param("tenant"), v.Param("provider"), shell.Next(v.Query("next")))
	return c.sendTo(v, begun, err)
}

// sendTo sends the browser to the identity provider.
func (c *Pages) sendTo(v *shell.Visit, begun sso.Begun, err error) error {
	if err != nil {
		return c.refused(v, err)
	}
	for _, name := range c.SSO.Surplus(c.Router.Cookies(v.Ctx, sso.FlowCookie)) {
		c.Router.DropCookie(v.Ctx, name)
	}
	c.Router.SetReturnCookie(v.Ctx, begun.Name, begun.Cookie, sso.FlowLife)
	return v.Redirect(begun.URL, fiber.StatusSeeOther)
}

// providerCallback completes the sign-in. The page that follows is opened by the browser itself: the request came from the
// provider's site, so a redirect would carry no session cookie. Only the sign-in that the state names ends: anyone can make a browser open
// the callback with a state of their own.
func (c *Pages) providerCallback(v *shell.Visit) error {
	in := sso.Callback{State: v.Query("state"), Code: v.Query("code"), Issuer: v.Query("iss"), Error: v.Query("error")}
	flow := sso.CookieOf(in.State)
	if in.Cookie = c.Router.Cookie(v.Ctx, flow); in.Cookie != "" {
		c.Router.DropCookie(v.Ctx, flow)
	}
	if max(len(in.State), len(in.Code), len(in.Issuer), len(in.Error)) > maxReturned {
		return problem.Newf(problem.BadRequest, "A parameter of the identity provider's response is longer than %d bytes.", maxReturned)
	}
	done, err := c.SSO.Finish(v.Context, v.Param("tenant"), v.Param("provider"), in, request.ID(v.Ctx))
	if err != nil {
		if by := done.Provider; by.ID != "" {
			failed := tally.SignIn{Tenant: by.TenantID, IdentityProvider: by.ID, Person: staff.Identified(err).ID, Reason: string(sso.ReasonOf(err))}
			c.Tally.SignInFailed(failed, request.ProblemOf(err).Code, request.ID(v.Ctx))
		}
		return c.refused(v, err)
	}
	if done.Tested != nil {
		return c.showTested(v, done)
	}
	c.Router.SetCookie(v.Ctx, shell.CookieName, done.Opened.Cookie, staff.SessionLife)
	to := cmp.Or(done.Next, shell.Prefix)
	v.Set("Refresh", "0; url="+to)
	return c.Router.Render(v.Ctx, fiber.StatusOK, web.Page{Template: "onward.html", Title: "One moment", Data: to})
}

// providerLogout is the back-channel logout of an identity provider (OpenID Connect Back-Channel Logout 1.0, section 2.5).
func (c *Pages) providerLogout(v *shell.Visit) error {
	v.Set(fiber.HeaderCacheControl, "no-store")
	raw := v.Form("logout_token")
	if raw == "" || len(raw) > maxLogoutToken {
		return problem.Newf(problem.BadRequest, "logout_token is missing or longer than %d bytes.", maxLogoutToken)
	}
	err := c.SSO.Logout(v.Context, v.Param("tenant"), v.Param("provider"), raw, request.ID(v.Ctx))
	reason := sso.ReasonOf(err)
	switch {
	case err == nil:
		return v.SendStatus(fiber.StatusOK)
	case reason == "" || reason == sso.ReasonUnreachable:
		return err
	}
	c.logRefusal(v, reason)
	return c.Router.JSON(v.Ctx, fiber.StatusBadRequest, map[string]string{"error": "invalid_request", "error_description": string(reason)})
}

// firstPasskey invites the user to register their first passkey and opens the invitation.
func (c *Pages) firstPasskey(v *shell.Visit) error {
	in, err := c.People.FirstPasskey(v.Context, v.Session, request.ID(v.Ctx))
	if err != nil {
		return err
	}
	return v.Redirect(in.URL, fiber.StatusSeeOther)
}

// refused logs why a sign-in was refused, which only the reason says: the cause may quote what the provider sent.
func (c *Pages) refused(v *shell.Visit, err error) error {
	if reason := sso.ReasonOf(err); reason != "" {
		c.logRefusal(v, reason)
	}
	return err
}

func (c *Pages) logRefusal(v *shell.Visit, reason sso.Reason) {
	c.Log.WarnContext(v.Context, "identity provider refused", "request_id", request.ID(v.Ctx), "reason", string(reason))
}
