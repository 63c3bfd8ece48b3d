// Package status serves the page on which the person whose request waits for reviewers sees how far it is.
//
// The link itself opens it, so it shows no details, amounts or names, and changes nothing. A link that is unknown and one whose hold ended
// long ago get the same page. The package may not read a hold itself, which internal/authz/hold does.
package status

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/statuslink"
	"github.com/countersign-dev/countersign/internal/platform/events/stream"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/internal/transport/sse"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/hosted"
)

//go:embed all:templates
var templates embed.FS

// Deps are the dependencies of the page. All are required.
type Deps struct {
	Holds     *hold.Service
	Links     statuslink.Links
	Hub       *stream.Hub
	Languages *hosted.Catalogue
}

type pages struct {
	Deps
	router *web.Router
}

// Section returns the section under /status.
func Section(d Deps) (web.Section, error) {
	files, err := fs.Sub(templates, "templates")
	partials, err2 := hosted.Partials()
	return web.Section{Prefix: statuslink.Path[:len(statuslink.Path)-1], Templates: files, Partials: partials, Routes: func(r *web.Router) {
		p := &pages{Deps: d, router: r}
		r.Get("/status/:environment/:authorization/:token", "page_status", p.show)
		r.Get("/status/:environment/:authorization/:token/events", "page_status_events", p.events)
	}}, errors.Join(err, err2)
}

// view is the data of the template.
type view struct {
	Frame    hosted.Frame
	State    string
	Tone     string
	For      string // the teams that it waits for; empty for any reviewer
	Approver bool   // it waits for a person whom the request names
	More     bool   // it waits for further approvals of any reviewer as well
	Step     string // the number of the open step; empty for a hold without steps
	Steps    string
	Since    time.Time
	DueAt    time.Time
	EndedAt  *time.Time
	Unopened bool // the link opens nothing
}

// tones are the tones of the states.
var tones = map[string]string{
	hold.StatusWaiting: "warn", hold.StatusApproved: "good", hold.StatusDeclined: "bad", hold.StatusExpired: "neutral", hold.StatusWithdrawn: "neutral",
}

// status returns the status that the link in the path opens. A link that opens nothing is not found.
func (p *pages) status(c *fiber.Ctx) (hold.Status, error) {
	environment, id := c.Params("environment"), c.Params("authorization")
	if !p.Links.Opens(environment, id, c.Params("token")) {
		return hold.Status{}, problem.NewNotFound()
	}
	status, err := p.Holds.Status(request.Context(c), environment, id)
	if errors.Is(err, pg.ErrNotFound) {
		err = problem.NewNotFound()
	}
	return status, err
}

func (p *pages) show(c *fiber.Ctx) error {
	s, err := p.status(c)
	if problem.Is(err, problem.NotFound) {
		return p.render(c, http.StatusNotFound, view{Frame: p.Languages.Frame(c, ""), State: "unknown", Tone: "warn", Unopened: true})
	}
	if err != nil {
		return err
	}
	v := view{
		Frame: p.Languages.Branded(c, s.Environment), State: s.State, Tone: tones[s.State], For: strings.Join(s.Teams, ", "),
		Approver: s.Approver, More: s.AnyReviewer, Since: s.Since, DueAt: s.DueAt, EndedAt: s.EndedAt,
	}
	if s.Steps > 1 {
		v.Step, v.Steps = strconv.Itoa(s.Step), strconv.Itoa(s.Steps)
	}
	return p.render(c, http.StatusOK, v)
}

func (p *pages) render(c *fiber.Ctx, status int, v view) error {
	title, err := v.Frame.Text("status." + v.State + ".heading")
	if err != nil {
		return err
	}
	return p.router.Render(c, status, v.Frame.Page(web.Page{Template: "status.html", Title: title, Script: "status.js", Style: "challenge.css", Data: v}))
}

// events is a stream whose messages say only that the status may have changed.
func (p *pages) events(c *fiber.Ctx) error {
	s, err := p.status(c)
	if err != nil {
		return err
	}
	environment, id := s.Environment.ID, strings.Clone(c.Params("authorization"))
	streams := &sse.Server{Hub: p.Hub}
	return streams.Serve(c, sse.Subscription{
		Principal: identity.Principal{TenantID: s.Environment.TenantID, EnvironmentID: environment, Page: "status"},
		Key:       "status:" + id, Life: sse.MaxLife,
		Filter: stream.Filter{Type: "hold.*", Authorization: id, Blank: true},
		Check:  func(ctx context.Context) (bool, error) { return p.Holds.StatusLasts(ctx, environment, id) },
	})
}
