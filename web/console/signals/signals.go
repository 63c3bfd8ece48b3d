// Package signals has the page of the security events that identity providers send.
package signals

import (
	"embed"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/subject/signal"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

//go:embed all:templates
var templates embed.FS

// Pages is the page of the issuers of security events with the newest events of each.
type Pages struct {
	*shell.Shell
	Signals *signal.Service
}

// Record declares the page: its route and template. The page of the retention leads to it.
func (c *Pages) Record() shell.Record {
	return shell.Record{
		Templates: templates,
		Lines:     []shell.Line{shell.See("/:environment/signals", "signals", shell.ReadConfig, c.page)},
	}
}

// issuer is an issuer with its newest events.
type issuer struct {
	Name, Issuer, From, Status, Fault string
	Received                          *show.Stamp
	Effects                           []string
	Events                            []event
}

// event is a received event in words.
type event struct {
	Received, Happened show.Stamp
	Type, About, Did   string
}

func (c *Pages) page(v *shell.Visit) error {
	streams, err := c.Signals.List(v.Context, v.Scope())
	if err != nil {
		return err
	}
	now := show.Stamps{Now: c.Clock.Now()}
	out := make([]issuer, len(streams))
	for i, s := range streams {
		out[i] = issuer{Name: s.Name, Issuer: s.Issuer, From: "pushed to " + s.PushURL, Status: s.Status, Effects: signal.Described(s.Settings.Effects)}
		if s.PollURL != nil {
			out[i].From = "polled from " + *s.PollURL
		}
		if s.LastError != nil {
			out[i].Fault = *s.LastError
		}
		out[i].Received = now.Maybe(s.ReceivedAt)
		newest, err := c.Signals.Newest(v.Context, v.Scope(), s.ID)
		if err != nil {
			return err
		}
		for _, e := range newest {
			out[i].Events = append(out[i].Events, event{now.At(e.ReceivedAt), now.At(e.At), e.Type, about(e), did(e)})
		}
	}
	return v.Page(fiber.StatusOK, "signals.html", "Security events", "retention", struct{ Issuers []issuer }{out})
}

// about says whom an event is about.
func about(e signal.Received) string {
	switch {
	case e.Subject != "":
		return e.Subject
	case e.Type == "verification" || e.Type == "stream-updated":
		return "the stream"
	case e.SubjectUID != nil:
		return "an erased subject"
	}
	return "no subject that is known"
}

// effects has the effects of an event in words.
var effects = map[string]string{
	signal.EffectEndSessions: "ended sessions", signal.EffectVoidProofs: "voided open proofs", signal.EffectChallenge: "requires challenges", signal.EffectRevoke: "revoked the subject",
}

func did(e signal.Received) string {
	words := make([]string, len(e.Effects))
	for i, name := range e.Effects {
		words[i] = effects[name]
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
