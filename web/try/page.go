// Package try serves the page for trying the service: enroll by typing, be recognised, hand over the keyboard, and make a
// simulated payment. It runs in a sandbox environment on a development machine only.
//
// It may not do anything that a relying party cannot do over the API: it calls the same services with a server key that never
// leaves the process. A visitor has access only to a subject created for the visit, which is erased after a day.
package try

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/ratelimit"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
)

//go:embed templates
var templates embed.FS

const (
	cookie    = "try"
	maxBody   = 16 << 10 // limit of the script's requests, in bytes
	tokenLife = 15 * time.Minute
	// Requests an hour from one IP address. Evidence has the quota of its client token.
	visitsAnHour = 60
	movesAnHour  = 2000
)

// Deps are the dependencies of the page. All are required.
type Deps struct {
	// Key is a server key of a sandbox environment.
	Key            string
	BaseURL        string
	Clock          clock.Clock
	Keys           *keyring.Keyring
	Store          *pg.Store
	Identity       *identity.Service
	Limiter        *ratelimit.Limiter
	Subjects       *subject.Service
	Sessions       *session.Service
	Completer      *enrollment.Completer
	Actions        *action.Service
	Authorizations *authorization.Service
	Challenges     *challenge.Service
	Proofs         *signing.Service
	// Starting says how far the start of the workflow engine is; empty once it runs.
	Starting func() string
}

// Page is the page with the endpoints of its script.
type Page struct {
	Deps
	router   *web.Router
	offering sync.Mutex // serialises the creation of the action
}

// New returns the page.
func New(d Deps) *Page { return &Page{Deps: d} }

// Section returns the section under /try.
func (p *Page) Section() (web.Section, error) {
	files, err := fs.Sub(templates, "templates")
	return web.Section{Prefix: "/try", Templates: files, Routes: func(r *web.Router) {
		p.router = r
		r.Get("/try", "page_try", p.show)
		r.Get("/try/state", "page_try_state", p.state)
		r.Get("/try/engine", "page_try_engine", p.engine)
		r.Get("/try/decision", "page_try_decision", p.decision)
		r.Post("/try/begin", "page_try_begin", p.begin)
		r.Post("/try/session", "page_try_session", p.session)
		r.Post("/try/token", "page_try_token", p.token)
		r.Post("/try/enroll", "page_try_enroll", p.enroll)
		r.Post("/try/stranger", "page_try_stranger", p.stranger)
		r.Post("/try/pay", "page_try_pay", p.pay)
		r.Post("/try/confirm", "page_try_confirm", p.confirm)
		r.Post("/try/verify", "page_try_verify", p.verify)
		r.Post("/try/forget", "page_try_forget", p.forget)
	}}, err
}

// view is the data of the template.
type view struct {
	Passages []string
	Typists  []uint32
	Rates    []verdictRate
	Noticed  string
	Limits   []string
	Policy   string
	Starting string
}

func (p *Page) show(c *fiber.Ctx) error {
	return p.router.Render(c, http.StatusOK, web.Page{
		Template: "try.html", Title: "Try it", Script: "try.js", Style: "try.css", Wide: true,
		Data: view{Passages: passages, Typists: typists, Rates: rates, Noticed: noticed, Limits: limits, Policy: policyText(), Starting: p.starting()},
	})
}

// starting says in a sentence what waits for the workflow engine; empty once it runs.
func (p *Page) starting() string {
	step := p.Starting()
	if step == "" {
		return ""
	}
	return strings.ToUpper(step[:1]) + step[1:] + ". You can begin: the end of your enrollment and confirmations wait for it."
}

// engine returns how far the start of the workflow engine is.
func (p *Page) engine(c *fiber.Ctx) error {
	return p.router.JSON(c, http.StatusOK, map[string]string{"starting": p.starting()})
}

// principal authenticates the page's server key.
func (p *Page) principal(c *fiber.Ctx) (identity.Principal, error) {
	who, err := p.Identity.Authenticate(request.Context(c), p.Key)
	if err != nil {
		return who, err
	}
	if who.Kind != models.Sandbox {
		return who, problem.New(problem.SandboxOnly, "This page requires a sandbox environment.")
	}
	who.Page, who.RequestID, who.TraceID = "try", request.ID(c), request.TraceID(c)
	return who, nil
}

// take counts a request against the quota of its IP address.
func (p *Page) take(c *fiber.Ctx, what string, limit int) error {
	d, err := p.Limiter.Take(request.Context(c), ratelimit.Bucket{Name: "try:" + what + ":" + request.Network(c), Limit: limit})
	if err != nil || d.Allowed {
		return nil //nolint:nilerr // an unavailable limiter refuses no request
	}
	e := problem.New(problem.RateLimited, "Too many requests from your IP address. Try again later.")
	e.RetryAfter = d.Reset
	return e
}
