// Package standing serves the page on which a subject sees and revokes their own standing approvals.
//
// The ticket of the link is in the fragment, which browsers do not send, and the page's script sends it in request bodies. The page shows nothing until a
// passkey of the subject has opened it for this browser. The package may not end a standing approval itself: internal/authz/standing does.
package standing

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/hosted"
)

//go:embed all:templates
var templates embed.FS

// maxBody limits the body of the script's requests, in bytes. The largest contains an assertion.
const maxBody = 64 << 10

// openedCookie names the cookie with the secret of a browser that opened a link.
const openedCookie = "standing"

// Deps are the dependencies of the page. All are required.
type Deps struct {
	Links     *standing.Links
	Clock     clock.Clock
	Languages *hosted.Catalogue
}

type pages struct {
	Deps
	router *web.Router
}

// Section returns the section under /standing.
func Section(d Deps) (web.Section, error) {
	files, err := fs.Sub(templates, "templates")
	partials, err2 := hosted.Partials()
	return web.Section{Prefix: standing.LinkPath, Templates: files, Partials: partials, Routes: func(r *web.Router) {
		p := &pages{Deps: d, router: r}
		r.Get("/standing", "page_standing", p.open)
		r.Land("/standing", "page_standing_show", p.show)
		r.Post("/standing/opening/options", "page_standing_opening_options", p.options)
		r.Post("/standing/opening", "page_standing_opening", p.openLink)
		r.Post("/standing/revoke", "page_standing_revoke", p.revoke)
	}}, errors.Join(err, err2)
}

// view is the data of the templates.
type view struct {
	Frame            hosted.Frame
	Ticket           string // for the script, which sends it with every request
	Passkeys         int
	Rows             []row
	SentenceLanguage standing.Language
	Ended            bool // this browser has just revoked one
	Link             challenge.LinkState
	Tone             string
}

// row is a standing approval as the subject reads it.
type row struct {
	ID, Sentence, EndsAt string
	UsesLeft, Uses       string
	AmountLeft           string // with the currency; empty without a limit
}

func rowOf(v standing.View, l standing.Language) row {
	out := row{
		ID: v.ID, Sentence: v.Allowance.Sentence(l), EndsAt: v.EndsAt, UsesLeft: strconv.Itoa(v.MaxUses - v.Uses), Uses: strconv.Itoa(v.MaxUses), AmountLeft: v.AmountLeft(),
	}
	if out.AmountLeft != "" && v.MaxAmount.Currency != nil {
		out.AmountLeft += " " + *v.MaxAmount.Currency
	}
	return out
}

// open renders a page that is the same for every visitor. Its script posts the ticket of the fragment to show.
func (p *pages) open(c *fiber.Ctx) error {
	return p.render(c, http.StatusOK, "open.html", "standing.title", view{Frame: p.Languages.Frame(c, "")})
}

func (p *pages) render(c *fiber.Ctx, status int, template, title string, v view) error {
	text, err := v.Frame.Text(title)
	if err != nil {
		return err
	}
	return p.router.Render(c, status, v.Frame.Page(web.Page{Template: template, Title: text, Script: "standing.js", Style: "challenge.css", Data: v}))
}

// visit looks up the ticket. Every invalid ticket is not found.
func (p *pages) visit(c *fiber.Ctx, ticket string) (standing.Visit, error) {
	if !challenge.IsTicket(ticket) {
		return standing.Visit{}, problem.NewNotFound()
	}
	return p.Links.ByTicket(request.Context(c), ticket, p.router.Cookie(c, openedCookie))
}

func (p *pages) show(c *fiber.Ctx) error {
	ticket := request.FormOf(c).Value("ticket")
	v, err := p.visit(c, ticket)
	if problem.Is(err, problem.NotFound) {
		return p.showGone(c, ticket)
	}
	if err != nil {
		return err
	}
	out := view{Frame: p.Languages.Branded(c, v.Environment), Ticket: ticket, Passkeys: v.Passkeys}
	if v.Closed {
		return p.render(c, http.StatusOK, "closed.html", "standing.title", out)
	}
	base, _, _ := strings.Cut(out.Frame.Tag, "-")
	out.SentenceLanguage = standing.LanguageOf(base)
	approvals, err := p.Links.InForce(request.Context(c), v)
	if err != nil {
		return err
	}
	for _, a := range approvals {
		out.Rows = append(out.Rows, rowOf(a, out.SentenceLanguage))
	}
	out.Ended = request.FormOf(c).Value("ended") != ""
	return p.render(c, http.StatusOK, "approvals.html", "standing.title", out)
}

// showGone says why a link opens nothing: 404 for one that is unknown, 410 for one that has ended.
func (p *pages) showGone(c *fiber.Ctx, ticket string) error {
	ended := challenge.EndedLink{State: challenge.LinkUnknown}
	if challenge.IsTicket(ticket) {
		var err error
		if ended, err = p.Links.Ended(request.Context(c), ticket); err != nil {
			return err
		}
	}
	status := http.StatusGone
	if ended.State == challenge.LinkUnknown {
		status = http.StatusNotFound
	}
	return p.render(c, status, "gone.html", "link."+string(ended.State)+".heading", view{Frame: p.Languages.Branded(c, ended.Environment), Link: ended.State, Tone: "warn"})
}

// scriptRequest is the body of every request of the script.
type scriptRequest struct {
	Ticket    string          `json:"ticket"`
	Assertion json.RawMessage `json:"assertion"`
	ID        string          `json:"id"`
}

// standingState is the response to every request of the script. A refusal that the user can act on has status 200.
type standingState struct {
	State   string `json:"state"`
	Refusal string `json:"refusal,omitempty"`
	Message string `json:"message,omitempty"`
	Options any    `json:"publicKey,omitempty"`
}

// The states of the page for its script, which asks for the page again for any but closed.
const (
	stateClosed = "closed"
	stateOpen   = "open"
	stateGone   = "gone"
)

// bind decodes the script's request and looks up its ticket.
func (p *pages) bind(c *fiber.Ctx) (scriptRequest, standing.Visit, error) {
	in, err := web.Bind[scriptRequest](c, maxBody)
	if err != nil {
		return in, standing.Visit{}, err
	}
	v, err := p.visit(c, in.Ticket)
	return in, v, err
}

// visitor returns the visitor, identified by the ticket and, once it is opened, by a passkey.
func visitor(c *fiber.Ctx) identity.Principal {
	return identity.Principal{Page: "standing", RequestID: request.ID(c), TraceID: request.TraceID(c)}
}

func (p *pages) options(c *fiber.Ctx) error {
	_, v, err := p.bind(c)
	if err != nil {
		return p.refuse(c, v, err)
	}
	options, err := p.Links.OpeningOptions(request.Context(c), v)
	if err != nil {
		return p.refuse(c, v, err)
	}
	return p.router.JSON(c, http.StatusOK, standingState{State: stateClosed, Options: options})
}

// openLink opens a link in this browser. The script then asks for the page again.
func (p *pages) openLink(c *fiber.Ctx) error {
	in, v, err := p.bind(c)
	if err != nil {
		return p.refuse(c, v, err)
	}
	secret, err := p.Links.Open(request.Context(c), visitor(c), v, in.Assertion)
	if err != nil {
		return p.refuse(c, v, err)
	}
	p.router.SetCookie(c, openedCookie, secret, max(v.ExpiresAt.Sub(p.Clock.Now()), time.Second))
	return p.router.JSON(c, http.StatusOK, standingState{State: stateOpen})
}

func (p *pages) revoke(c *fiber.Ctx) error {
	in, v, err := p.bind(c)
	if err == nil {
		_, err = p.Links.Revoke(request.Context(c), visitor(c), v, in.ID)
	}
	if err != nil {
		return p.refuse(c, v, err)
	}
	return p.router.JSON(c, http.StatusOK, standingState{State: stateOpen})
}

// refuse writes a refusal that the user can act on and returns every other error unchanged.
func (p *pages) refuse(c *fiber.Ctx, v standing.Visit, err error) error {
	code := request.ProblemOf(err).Code
	switch {
	case code == problem.NotFound:
		return p.router.JSON(c, http.StatusOK, standingState{State: stateGone})
	case v.Environment.ID == "" || code != problem.Conflict && code != problem.MethodNotOffered && challenge.RefusedAssertion(err) == nil:
		return err
	}
	request.SetProblemCode(c, code)
	frame := p.Languages.Branded(c, v.Environment)
	message, err := frame.Text(hosted.RefusalKey(code), "by", frame.Customer)
	if err != nil {
		return err
	}
	return p.router.JSON(c, http.StatusOK, standingState{State: stateClosed, Refusal: string(code), Message: message})
}
