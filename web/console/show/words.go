// Package show formats values for people: times, states, actors and codes.
package show

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// Stamp is a time that a page shows relative to the time of rendering, with the exact time as its title.
type Stamp struct {
	time.Time
	Now time.Time
}

// ISO returns the time for the datetime attribute.
func (s Stamp) ISO() string { return apitime.Time(s.Time) }

// Exact returns the full time in UTC.
func (s Stamp) Exact() string { return s.UTC().Format("2006-01-02 15:04:05 UTC") }

// Day returns the date in UTC.
func (s Stamp) Day() string { return s.UTC().Format("2006-01-02") }

// Words returns the time relative to the time of rendering. The page's script keeps it up to date in the same format.
func (s Stamp) Words() string {
	d := s.Sub(s.Now)
	if d < 0 {
		return Span(-d) + " ago"
	}
	return "in " + Span(d)
}

// Span formats a duration in its largest unit; below ten hours with minutes.
func Span(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	case d < 10*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d/time.Hour), int(d%time.Hour/time.Minute))
	case d < 4*day:
		return fmt.Sprintf("%d h", int(d/time.Hour))
	default:
		return fmt.Sprintf("%d days", int(d/day))
	}
}

// Stamps creates stamps with the same time of rendering.
type Stamps struct{ Now time.Time }

// At returns a time for display.
func (s Stamps) At(t time.Time) Stamp { return Stamp{t, s.Now} }

// Maybe returns nil for nil.
func (s Stamps) Maybe(t *time.Time) *Stamp {
	if t == nil {
		return nil
	}
	out := s.At(*t)
	return &out
}

// Read parses an optional time of a service's view; nil if there is none.
func (s Stamps) Read(text *string) *Stamp {
	if text == nil {
		return nil
	}
	return s.Text(*text)
}

// Text returns the time that a text of the API says; nil if it says none.
func (s Stamps) Text(text string) *Stamp {
	t, err := apitime.Parse(text)
	if err != nil {
		return nil
	}
	out := s.At(t)
	return &out
}

// Actor is the actor of an event, formatted for the user.
type Actor struct {
	Kind string // person, API key, workflow, command, other
	Name string
	Raw  string
}

// ActorOf returns an actor of the log for display, with the names of people.
func ActorOf(raw string, names map[string]string) Actor {
	kind, id, _ := strings.Cut(raw, ":")
	switch kind {
	case "person":
		if name := names[id]; name != "" {
			return Actor{"person", name, raw}
		}
		return Actor{"person", id, raw}
	case "credential":
		return Actor{"API key", id, raw}
	case "client_token":
		return Actor{"browser", id, raw}
	case "workflow":
		return Actor{"workflow", id, raw}
	case "cli":
		return Actor{"command", id, raw}
	default:
		return Actor{"other", raw, raw}
	}
}

// Code is a reason code with its description and remedy.
type Code struct {
	Code, Meaning, Remedy string
}

// Codes returns reason codes with what they mean.
func Codes(list []string) []Code {
	out := make([]Code, len(list))
	for i, c := range list {
		out[i] = Code{Code: c}
		if e, ok := reason.Lookup(c); ok {
			out[i].Meaning, out[i].Remedy = e.Description, e.Remedy
		}
	}
	return out
}

// Plain replaces the separators of a contract's identifier by spaces.
func Plain(word string) string {
	return strings.ReplaceAll(strings.ReplaceAll(word, "_", " "), ".", ": ")
}

// Tone returns the CSS class of a status: good, warn, bad, or none.
func Tone(word string) string {
	switch word {
	case "allow", "confirmed", "active", "enabled", "approved", "completed", "succeeded", "passed", "ok", "executed", "sufficient", "STABLE",
		"not_detected", "ended":
		return "good"
	case "challenge", "hold", "likely", "uncertain", "pending", "partial", "sparse", "WATCH", "LEARNING", "degraded", "draft", "open", "high",
		"in_progress", "starting":
		return "warn"
	case "deny", "not_confirmed", "detected", "rejected", "failed", "revoked", "BROKEN", "DEGRADED", "unavailable", "disabled", "critical",
		"confirmed_attack", "manually_rejected":
		return "bad"
	default:
		return ""
	}
}

// Tag is a word with its tone.
type Tag struct {
	Text, Tone string
}

// TagOf returns a state or decision as a coloured word.
func TagOf(word string) Tag { return Tag{Plain(word), Tone(word)} }

// Short abbreviates an id to its prefix and its last characters, which are random.
func Short(id string) string {
	prefix, rest, ok := strings.Cut(id, "_")
	if !ok || len(rest) < 10 {
		return id
	}
	return prefix + "_…" + rest[len(rest)-8:]
}

// Indented formats JSON with line breaks; it returns invalid JSON unchanged.
func Indented(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	return unescaped(v, "  ")
}

// unescaped returns a value as JSON that people read: <, > and & as they are.
func unescaped(v any, indent string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Text returns a value of JSON on one line, and a string without quotes.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return unescaped(v, "")
}

// Notice is the result of the user's last action.
type Notice struct {
	Tone, Text string
}

// Urgency returns how soon a time is due: the class of its colour.
func Urgency(due Stamp) string {
	switch left := due.Sub(due.Now).Hours(); {
	case left < 1:
		return "hour"
	case left < 24:
		return "day"
	default:
		return "none"
	}
}

// Resolved is a resolution in the past tense.
func Resolved(resolution string) string {
	return map[string]string{"approve": "approved", "reject": "rejected", "break_glass": "broke the glass of"}[resolution]
}

// Capital writes the first letter large.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Named returns an actor with its name: names is by actor.
func Named(raw string, names map[string]string) Actor {
	out := ActorOf(raw, nil)
	out.Name = cmp.Or(names[raw], out.Name)
	return out
}
