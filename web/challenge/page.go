// Package challenge serves the hosted page on which a user confirms or cancels one challenge with the ticket of a link.
//
// The ticket is in the fragment of the link, which browsers do not send, and the page's script sends it in request bodies. It
// must not appear in a path, a query or a log. The package may not verify or settle a challenge itself, which
// internal/authz/challenge and the workflow do, and may not show the decision.
package challenge

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	details "github.com/countersign-dev/countersign/internal/authz/display"
	grants "github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/hosted"
)

//go:embed all:templates
var templates embed.FS

// maxBody limits the body of the script's requests, in bytes. The largest contains an assertion.
const maxBody = 64 << 10

// maxNamed is the length of the longest payee that the button names, in characters.
const maxNamed = 60

// Moves completes and cancels challenges (challenge.Resolver).
type Moves interface {
	Complete(ctx context.Context, p identity.Principal, id, method string, assertion json.RawMessage) (*challenge.Receipt, error)
	Cancel(ctx context.Context, p identity.Principal, id string) (models.ChallengeStatus, error)
}

// Deps are the dependencies of the page. All are required.
type Deps struct {
	Challenges *challenge.Service
	Moves      Moves
	Clock      clock.Clock
	Languages  *hosted.Catalogue
}

type pages struct {
	Deps
	router *web.Router
}

// Section returns the section under /challenge.
func Section(d Deps) (web.Section, error) {
	files, err := fs.Sub(templates, "templates")
	partials, err2 := hosted.Partials()
	return web.Section{Prefix: "/challenge", Templates: files, Partials: partials, Routes: func(r *web.Router) {
		p := &pages{Deps: d, router: r}
		r.Get("/challenge/:challenge", "page_challenge", p.open)
		r.Land("/challenge/:challenge", "page_challenge_show", p.show)
		r.Post("/challenge/:challenge/standing", "page_challenge_standing", p.standing)
		r.Post("/challenge/:challenge/opening/options", "page_challenge_opening_options", p.openingOptions)
		r.Post("/challenge/:challenge/opening", "page_challenge_opening", p.openLink)
		r.Post("/challenge/:challenge/options", "page_challenge_options", p.options)
		r.Post("/challenge/:challenge/complete", "page_challenge_complete", p.complete)
		r.Post("/challenge/:challenge/cancel", "page_challenge_cancel", p.cancel)
	}}, errors.Join(err, err2)
}

// visit looks up the ticket, which must belong to the challenge in the path. Every invalid ticket is not found.
func (p *pages) visit(c *fiber.Ctx, ticket string) (challenge.Visit, error) {
	if !challenge.IsTicket(ticket) {
		return challenge.Visit{}, problem.NewNotFound()
	}
	v, err := p.Challenges.ByTicket(request.Context(c), ticket, p.router.Cookie(c, openedCookie(c)))
	if err == nil && v.ID != c.Params("challenge") {
		return challenge.Visit{}, problem.NewNotFound()
	}
	return v, err
}

// openedCookie names the cookie with the secret of a browser that opened a link for a client to the challenge in the path.
func openedCookie(c *fiber.Ctx) string { return "opened_" + c.Params("challenge") }

// principal returns the visitor, identified by the ticket.
func principal(c *fiber.Ctx, v challenge.Visit) identity.Principal {
	return identity.Principal{
		TenantID: v.Environment.TenantID, EnvironmentID: v.Environment.ID, Kind: v.Environment.Kind, Page: "challenge",
		RequestID: request.ID(c), TraceID: request.TraceID(c),
	}
}

// view is the data of the template.
type view struct {
	Frame      hosted.Frame
	ID         string
	Ticket     string // for the script, which sends it with every request
	State      string
	Display    display
	Text       models.ActionText // name and consequence in the reader's language
	Rows       []row             // the details likewise
	Pay        template.HTML     // text of the button that names amount and payee; empty for a request without an amount
	Sandbox    bool
	Passkey    bool // a passkey is accepted
	Confirm    bool // a click is accepted; sandbox only
	Registered bool // the user has a passkey
	ReturnURL  string
	ReturnTo   string // host of ReturnURL
	Now        time.Time
	ExpiresAt  time.Time
	// CompletedAt is set for a completed challenge.
	CompletedAt *time.Time
	Endings     []ending
}

// row is a detail with its label in the reader's language. The page's script writes the value in it.
type row struct {
	details.Detail
	Label string
	Is    string // amount or payee for the values that the button names; empty for others
}

// display is the contract's ChallengeDisplay. A passkey signs its digest.
type display struct {
	ActionKey             string `json:"action_key"`
	Action                string `json:"action"`
	Consequence           string `json:"consequence"`
	ResourceType          string `json:"resource_type"`
	ResourceDigest        string `json:"resource_digest"`
	ContextDigest         string `json:"context_digest"`
	Audience              string `json:"audience"`
	RequestingApplication string `json:"requesting_application"`
	// Details are the values of the request that the user confirms, in order. DetailsDigest is set if there are any, even if they
	// can no longer be shown.
	Details       []details.Detail `json:"details"`
	DetailsDigest string           `json:"details_digest"`
	// Labels are the name and the consequence in other languages, by language tag.
	Labels map[string]models.ActionText `json:"labels"`
}

// Unshown reports whether the challenge has details that cannot be shown. Such a challenge cannot be confirmed.
func (d display) Unshown() bool { return d.DetailsDigest != "" && len(d.Details) == 0 }

// linkView is the data of the pages that show no challenge. Link is set for a link that opens nothing.
type linkView struct {
	Frame hosted.Frame
	Link  challenge.LinkState
	Tone  string
}

// open renders a page that is the same for every visitor. Its script posts the ticket of the fragment to show.
func (p *pages) open(c *fiber.Ctx) error {
	framers, err := p.Challenges.Framers(request.Context(c), c.Params("challenge"))
	if err != nil {
		return err
	}
	frame := p.Languages.Frame(c, "")
	title, err := frame.Text("open.title")
	if err != nil {
		return err
	}
	return p.router.Render(c, http.StatusOK, frame.Page(web.Page{
		Template: "open.html", Title: title, Script: "challenge.js", Style: "challenge.css", FrameAncestors: framers, Data: linkView{Frame: frame},
	}))
}

func (p *pages) show(c *fiber.Ctx) error {
	ticket := request.FormOf(c).Value("ticket")
	v, err := p.visit(c, ticket)
	if problem.Is(err, problem.NotFound) || err == nil && v.Closed && v.Status != models.ChallengeOpen {
		return p.showLink(c, ticket)
	}
	if err != nil {
		return err
	}
	shown, err := p.view(c, v)
	if err != nil {
		return err
	}
	shown.Ticket = ticket
	title, err := titleOf(shown)
	if err != nil {
		return err
	}
	template := "challenge.html"
	if v.Closed {
		template = "closed.html"
	}
	return p.router.Render(c, http.StatusOK, shown.Frame.Page(web.Page{
		Template: template, Title: title, Script: "challenge.js", Style: "challenge.css", Data: shown,
		FrameAncestors: v.Environment.FrameAncestors,
	}))
}

// showLink says why a link opens nothing: 404 for one that is unknown, 410 for one that has ended.
func (p *pages) showLink(c *fiber.Ctx, ticket string) error {
	ended := challenge.EndedLink{State: challenge.LinkUnknown}
	if challenge.IsTicket(ticket) {
		var err error
		if ended, err = p.Challenges.Ended(request.Context(c), c.Params("challenge"), ticket); err != nil {
			return err
		}
	}
	status := http.StatusGone
	if ended.State == challenge.LinkUnknown {
		status = http.StatusNotFound
	}
	frame := p.Languages.Branded(c, ended.Environment) // the zero value for an unknown link
	title, err := frame.Text("link." + string(ended.State) + ".heading")
	if err != nil {
		return err
	}
	return p.router.Render(c, status, frame.Page(web.Page{
		Template: "gone.html", Title: title, Script: "challenge.js", Style: "challenge.css",
		Data: linkView{frame, ended.State, linkTone(ended.State)},
	}))
}

func (p *pages) view(c *fiber.Ctx, v challenge.Visit) (view, error) {
	out := view{
		Frame: p.Languages.Branded(c, v.Environment), ID: v.ID, State: state(v), Sandbox: v.Environment.Kind == models.Sandbox, Registered: v.Passkeys > 0,
		ReturnURL: v.ReturnURL, ReturnTo: hostOf(v.ReturnURL), Now: p.Clock.Now(), ExpiresAt: v.ExpiresAt, CompletedAt: v.CompletedAt, Endings: endings,
	}
	for _, m := range v.Methods {
		out.Passkey = out.Passkey || m == challenge.MethodPasskey
		out.Confirm = out.Confirm || m == challenge.MethodSandboxConfirm && out.Sandbox
	}
	if v.Status == models.ChallengeOpen && !out.Confirm && v.Passkeys == 0 {
		out.State = stateNoPasskey
	}
	if v.Closed {
		return out, nil
	}
	if err := json.Unmarshal(v.Display, &out.Display); err != nil {
		return out, err
	}
	return out, out.translate()
}

// translate writes the action, the details and the button in the language of the page.
func (v *view) translate() (err error) {
	base, _, _ := strings.Cut(v.Frame.Tag, "-")
	signed := models.ActionText{Name: v.Display.Action, Consequence: v.Display.Consequence}
	v.Text = cmp.Or(v.Display.Labels[v.Frame.Tag], v.Display.Labels[base], signed)
	values := map[string]string{}
	for _, d := range v.Display.Details {
		if a, is := grants.AllowanceIn(d); is {
			d.Value = a.Sentence(grants.LanguageOf(base))
		}
		if d.Format == details.Standing {
			d.Canonical = ""
		}
		r := row{Detail: d, Label: cmp.Or(d.Labels[v.Frame.Tag], d.Labels[base], d.Label)}
		switch {
		case d.Title:
			r.Is = "payee"
		case d.Format == details.Money && values["amount"] == "":
			r.Is = "amount"
		}
		values[r.Is] = d.Value
		v.Rows = append(v.Rows, r)
	}
	// Who is paid how much comes first, wherever the policy lists it.
	slices.SortStableFunc(v.Rows, func(a, b row) int { return cmp.Compare(min(1, len(b.Is)), min(1, len(a.Is))) })
	amount, payee := values["amount"], values["payee"]
	switch {
	case amount == "":
	case payee == "" || utf8.RuneCountInString(payee) > maxNamed:
		v.Pay, err = v.Frame.Slot("request.pay_amount", "amount", amount)
	default:
		v.Pay, err = v.Frame.Slot("request.pay", "amount", amount, "payee", payee)
	}
	return err
}
