// Package register serves the hosted page on which a user registers a passkey with a registration grant.
//
// The grant is in the fragment of the link, which browsers do not send, and the page's script sends it in request bodies. It
// must not appear in a path, a query or a log. The package may not register anything itself: internal/subject/passkey does.
package register

import (
	"embed"
	"encoding/json"
	"errors"
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
	"github.com/countersign-dev/countersign/web/hosted"
)

//go:embed all:templates
var templates embed.FS

// maxBody limits the body of the script's requests, in bytes. The largest is a credential with its attestation.
const maxBody = 128 << 10

// The states of the page.
const (
	stateOpen       = "open"
	stateRegistered = "registered"
)

// Deps are the dependencies of the page. All are required.
type Deps struct {
	Passkeys  *passkey.Service
	Clock     clock.Clock
	Languages *hosted.Catalogue
}

// ended are the further states of the page, one for each reason why a grant cannot be used.
var ended = []passkey.GrantState{passkey.GrantUnknown, passkey.GrantExpired, passkey.GrantUsed}

type pages struct {
	Deps
	router *web.Router
}

// view is the data of the template.
type view struct {
	Frame hosted.Frame
	Ended []passkey.GrantState
}

// Section returns the section under /register.
func Section(d Deps) (web.Section, error) {
	files, err := fs.Sub(templates, "templates")
	partials, err2 := hosted.Partials()
	return web.Section{Prefix: "/register", Templates: files, Partials: partials, Routes: func(r *web.Router) {
		p := &pages{Deps: d, router: r}
		r.Get("/register", "page_register", p.show)
		r.Post("/register/open", "page_register_open", p.open)
		r.Post("/register/options", "page_register_options", p.options)
		r.Post("/register/complete", "page_register_complete", p.complete)
	}}, errors.Join(err, err2)
}

// show renders the page. It is the same for every visitor; the script loads the account with the grant.
func (p *pages) show(c *fiber.Ctx) error {
	frame := p.Languages.Frame(c, "")
	title, err := frame.Text("register.title")
	if err != nil {
		return err
	}
	return p.router.Render(c, http.StatusOK, frame.Page(web.Page{
		Template: "register.html", Title: title, Script: "register.js", Style: "challenge.css", Data: view{frame, ended},
	}))
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
	Account   []web.Part `json:"account,omitempty"`
	Passkeys  int        `json:"passkeys"` // number of passkeys that the account has
	Sandbox   bool       `json:"sandbox,omitempty"`
	Customer  []web.Part `json:"customer,omitempty"`
	Logo      string     `json:"logo,omitempty"`     // data URL
	Accent    string     `json:"accent,omitempty"`   // path of a style sheet
	Language  string     `json:"language,omitempty"` // of the page, given the environment's default
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
		return p.refuse(c, in, err)
	}
	out := p.branded(c, v.Environment, stateOpen)
	out.Account, out.Passkeys, out.ExpiresIn = web.Parts(v.Subject), v.Passkeys, v.ExpiresAt.Sub(p.Clock.Now()).Milliseconds()
	if back, err := challenge.AllowedReturn(v.Environment, in.ReturnURL); err == nil && back != nil {
		out.ReturnURL = *back
	}
	return p.router.JSON(c, http.StatusOK, out)
}

// branded returns a standing with the brand of an environment.
func (p *pages) branded(c *fiber.Ctx, env models.Environment, state string) standing {
	frame := p.Languages.Branded(c, env)
	return standing{
		State: state, Customer: web.Parts(frame.Customer), Logo: string(frame.Logo), Accent: web.AccentURL(frame.Accent), Language: frame.Tag,
		Sandbox: frame.Sandbox,
	}
}

func (p *pages) options(c *fiber.Ctx) error {
	in, v, err := p.visit(c)
	if err != nil {
		return p.refuse(c, in, err)
	}
	options, err := p.Passkeys.Options(request.Context(c), principal(c, v), v.Subject, in.Grant, "")
	if err != nil {
		return p.refuse(c, in, err)
	}
	return p.router.JSON(c, http.StatusOK, standing{State: stateOpen, Options: options})
}

func (p *pages) complete(c *fiber.Ctx) error {
	in, v, err := p.visit(c)
	if err != nil {
		return p.refuse(c, in, err)
	}
	row, err := p.Passkeys.Complete(request.Context(c), principal(c, v), v.Subject, in.Grant, in.Credential)
	if err != nil {
		return p.refuse(c, in, err)
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

// refusals are the keys of the messages of refusals that the user can act on.
var refusals = map[problem.Code]string{
	problem.PasskeyExists: "register.exists", problem.RegistrationRefused: "register.refused", problem.Conflict: "register.limit",
}

// refuse writes a refusal that the user can act on and returns every other error unchanged.
func (p *pages) refuse(c *fiber.Ctx, in scriptRequest, err error) error {
	refused := request.ProblemOf(err)
	out := standing{State: stateOpen, Refusal: string(refused.Code)}
	switch refused.Code {
	case problem.GrantInvalid, problem.SubjectRevoked, problem.NotFound:
		reason, env, err := p.Passkeys.EndedGrant(request.Context(c), in.Grant)
		if err != nil {
			return err
		}
		if out.State = string(reason); reason != passkey.GrantUnknown {
			out = p.branded(c, env, string(reason))
			out.Refusal = string(refused.Code)
		}
	case problem.PasskeyExists, problem.RegistrationRefused, problem.Conflict:
		messages, _ := p.Languages.Of(c, "")
		if out.Message, err = messages.Text(refusals[refused.Code]); err != nil {
			return err
		}
	default:
		return err
	}
	request.SetProblemCode(c, refused.Code)
	return p.router.JSON(c, http.StatusOK, out)
}
