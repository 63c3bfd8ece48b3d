// Package register serves the hosted page on which a user registers a passkey with a registration grant.
//
// The grant is in the fragment of the link, which browsers do not send, and the page's script sends it in request bodies. It
// must not appear in a path, a query or a log. The package may not register anything itself: internal/subject/passkey does.
package register

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject/passkey"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
)

//go:embed all:templates
var templates embed.FS

// maxBody limits the body of the script's requests, in bytes. The largest is a credential with its attestation.
const maxBody = 128 << 10

// The states of the page.
const (
	stateOpen       = "open"
	stateRegistered = "registered"
	stateGone       = "gone" // the grant is unknown, used or expired
)

// Deps are the dependencies of the page. All are required.
type Deps struct {
	Passkeys *passkey.Service
	Clock    clock.Clock
}

type pages struct {
	Deps
	router *web.Router
}

// Section returns the section under /register.
func Section(d Deps) (web.Section, error) {
	files, err := fs.Sub(templates, "templates")
	return web.Section{Prefix: "/register", Templates: files, Routes: func(r *web.Router) {
		p := &pages{Deps: d, router: r}
		r.Get("/register", "page_register", p.show)
		r.Post("/register/open", "page_register_open", p.open)
		r.Post("/register/options", "page_register_options", p.options)
		r.Post("/register/complete", "page_register_complete", p.complete)
	}}, err
}

// show renders the page. It is the same for every visitor; the script loads the account with the grant.
func (p *pages) show(c *fiber.Ctx) error {
	return p.router.Render(c, http.StatusOK, web.Page{
		Template: "register.html", Title: "Add a passkey", Script: "register.js", Style: "challenge.css",
	})
}

// scriptRequest is the body of every request of the script.
type scriptRequest struct {
	Grant      string          `json:"grant"`
	ReturnURL  string          `json:"return_url"`
	Credential json.RawMessage `json:"credential"`
}

// standing is the response to every request of the script. A refusal that the user can act on has status 200.
type standing struct {
	State     string     `json:"state"`
	By        []web.Part `json:"by,omitempty"`
	Account   []web.Part `json:"account,omitempty"`
	Passkeys  int        `json:"passkeys"` // number of passkeys that the account has
	Sandbox   bool       `json:"sandbox,omitempty"`
	ExpiresIn int64      `json:"expires_in_ms,omitempty"`
	ReturnURL string     `json:"return_url,omitempty"` // the requested one, if the environment allows it
	Refusal   string     `json:"refusal,omitempty"`
	Message   string     `json:"message,omitempty"`
	Options   any        `json:"publicKey,omitempty"`
}

// visit decodes the request and looks up its grant.
func (p *pages) visit(c *fiber.Ctx) (scriptRequest, passkey.GrantInfo, error) {
	in, err := web.Bind[scriptRequest](c, maxBody)
	if err != nil {
		return in, passkey.GrantInfo{}, err
	}
	if len(in.Grant) < 32 || len(in.Grant) > 256 {
		return in, passkey.GrantInfo{}, problem.New(problem.GrantInvalid, "The registration grant is malformed.")
	}
	v, err := p.Passkeys.GrantByToken(request.Context(c), in.Grant)
	return in, v, err
}

func (p *pages) open(c *fiber.Ctx) error {
	in, v, err := p.visit(c)
	if err != nil {
		return p.refuse(c, err)
	}
	out := standing{
		State: stateOpen, By: web.Parts(v.Environment.RPName), Account: web.Parts(v.Subject), Passkeys: v.Passkeys,
		Sandbox: v.Environment.Kind == models.Sandbox, ExpiresIn: v.ExpiresAt.Sub(p.Clock.Now()).Milliseconds(),
	}
	if back, err := challenge.AllowedReturn(v.Environment, in.ReturnURL); err == nil && back != nil {
		out.ReturnURL = *back
	}
	return p.router.JSON(c, http.StatusOK, out)
}

func (p *pages) options(c *fiber.Ctx) error {
	in, v, err := p.visit(c)
	if err != nil {
		return p.refuse(c, err)
	}
	options, err := p.Passkeys.Options(request.Context(c), principal(c, v), v.Subject, in.Grant)
	if err != nil {
		return p.refuse(c, err)
	}
	return p.router.JSON(c, http.StatusOK, standing{State: stateOpen, Options: options})
}

func (p *pages) complete(c *fiber.Ctx) error {
	in, v, err := p.visit(c)
	if err != nil {
		return p.refuse(c, err)
	}
	row, err := p.Passkeys.Complete(request.Context(c), principal(c, v), v.Subject, in.Grant, in.Credential)
	if err != nil {
		return p.refuse(c, err)
	}
	return p.router.JSON(c, http.StatusOK, struct {
		standing
		CreatedAt string `json:"created_at"`
	}{standing{State: stateRegistered}, apitime.Time(row.CreatedAt)})
}

// principal returns the visitor, identified by the grant.
func principal(c *fiber.Ctx, v passkey.GrantInfo) identity.Principal {
	return identity.Principal{
		TenantID: v.Environment.TenantID, EnvironmentID: v.Environment.ID, Kind: v.Environment.Kind, Page: "register",
		RequestID: request.ID(c), TraceID: request.TraceID(c),
	}
}

// refuse writes a refusal that the user can act on and returns every other error unchanged.
func (p *pages) refuse(c *fiber.Ctx, err error) error {
	refused := request.ProblemOf(err)
	out := standing{State: stateOpen, Refusal: string(refused.Code)}
	switch refused.Code {
	case problem.GrantInvalid, problem.SubjectRevoked, problem.NotFound:
		out.State = stateGone
	case problem.PasskeyExists:
		out.Message = "This passkey is already registered. Create a different one, or close this page."
	case problem.RegistrationRefused:
		out.Message = "The passkey was not accepted. The device must verify you by fingerprint, face or PIN. Try again, or use a different device."
	case problem.Conflict:
		out.Message = "This account has reached its limit of passkeys. Remove one first."
	default:
		return err
	}
	request.SetProblemCode(c, refused.Code)
	return p.router.JSON(c, http.StatusOK, out)
}
