// Package register is the hosted page on which a person registers a passkey, opened by a registration grant.
//
// The grant comes in the fragment of the address, which a browser sends to nobody, and from there in the bodies of the
// page's own requests; it is in no path, no query and no log. The package registers nothing itself: internal/subject/passkey does.
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

// maxBody is the cap in bytes of what the page's script sends: a credential with its attestation.
const maxBody = 128 << 10

// The states of the page.
const (
	stateOpen       = "open"
	stateRegistered = "registered"
	stateGone       = "gone" // the grant is unknown, used or over
)

// Deps are what the page works with. All are required.
type Deps struct {
	Passkeys *passkey.Service
	Clock    clock.Clock
}

type pages struct {
	Deps
	router *web.Router
}

// Section is the part of the site under /register.
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

// show is the same page for everybody: who it is for, only the script learns.
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

// standing is the answer to every request of the script; a refusal is 200 too, because it is part of the conversation.
type standing struct {
	State     string     `json:"state"`
	By        []web.Part `json:"by,omitempty"`
	Account   []web.Part `json:"account,omitempty"`
	Passkeys  int        `json:"passkeys"` // that the account has already
	Sandbox   bool       `json:"sandbox,omitempty"`
	ExpiresIn int64      `json:"expires_in_ms,omitempty"`
	ReturnURL string     `json:"return_url,omitempty"` // the one asked for, if it is allowed
	Refusal   string     `json:"refusal,omitempty"`
	Message   string     `json:"message,omitempty"`
	Options   any        `json:"publicKey,omitempty"`
}

// visit reads the request and looks its grant up. A grant that opens nothing is answered here.
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

// principal is the visitor: whoever holds the grant.
func principal(c *fiber.Ctx, v passkey.GrantInfo) identity.Principal {
	return identity.Principal{
		TenantID: v.Environment.TenantID, EnvironmentID: v.Environment.ID, Kind: v.Environment.Kind, Page: "register",
		RequestID: request.ID(c), TraceID: request.TraceID(c),
	}
}

// refuse answers what the person can do something about; what is no refusal stays an error.
func (p *pages) refuse(c *fiber.Ctx, err error) error {
	refused := request.ProblemOf(err)
	out := standing{State: stateOpen, Refusal: string(refused.Code)}
	switch refused.Code {
	case problem.GrantInvalid, problem.SubjectRevoked, problem.NotFound:
		out.State = stateGone
	case problem.PasskeyExists:
		out.Message = "This passkey is registered already. Make another one, or close this page."
	case problem.RegistrationRefused:
		out.Message = "The passkey was not accepted: the device must check that it is you, by fingerprint, face or PIN. Try again, or use another device."
	case problem.Conflict:
		out.Message = "This account has as many passkeys as it can have. Remove one first."
	default:
		return err
	}
	request.SetProblemCode(c, refused.Code)
	return p.router.JSON(c, http.StatusOK, out)
}
