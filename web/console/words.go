package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// stamp is a time that a page shows relative to the time of rendering, with the exact time as its title.
type stamp struct {
	time.Time
	now time.Time
}

// ISO returns the time for the datetime attribute.
func (s stamp) ISO() string { return apitime.Time(s.Time) }

// Exact returns the full time in UTC.
func (s stamp) Exact() string { return s.UTC().Format("2006-01-02 15:04:05 UTC") }

// Day returns the date in UTC.
func (s stamp) Day() string { return s.UTC().Format("2006-01-02") }

// Words returns the time relative to the time of rendering. The page's script keeps it up to date in the same format.
func (s stamp) Words() string {
	d := s.Sub(s.now)
	if d < 0 {
		return span(-d) + " ago"
	}
	return "in " + span(d)
}

// span formats a duration in its largest unit; below ten hours with minutes.
func span(d time.Duration) string {
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

// stamps creates stamps with the same time of rendering.
type stamps struct{ now time.Time }

func (s stamps) at(t time.Time) stamp { return stamp{t, s.now} }

// maybe returns nil for nil.
func (s stamps) maybe(t *time.Time) *stamp {
	if t == nil {
		return nil
	}
	out := s.at(*t)
	return &out
}

// read parses an optional time of a service's view; nil if there is none.
func (s stamps) read(text *string) *stamp {
	if text == nil {
		return nil
	}
	return s.text(*text)
}

func (s stamps) text(text string) *stamp {
	t, err := apitime.Parse(text)
	if err != nil {
		return nil
	}
	out := s.at(t)
	return &out
}

// actor is the actor of an event, formatted for the user.
type actor struct {
	Kind string // person, API key, workflow, command, other
	Name string
	Raw  string
}

func actorOf(raw string, names map[string]string) actor {
	kind, id, _ := strings.Cut(raw, ":")
	switch kind {
	case "person":
		if name := names[id]; name != "" {
			return actor{"person", name, raw}
		}
		return actor{"person", id, raw}
	case "credential":
		return actor{"API key", id, raw}
	case "client_token":
		return actor{"browser", id, raw}
	case "workflow":
		return actor{"workflow", id, raw}
	case "cli":
		return actor{"command", id, raw}
	default:
		return actor{"other", raw, raw}
	}
}

// code is a reason code with its description and remedy.
type code struct {
	Code, Meaning, Remedy string
}

func codes(list []string) []code {
	out := make([]code, len(list))
	for i, c := range list {
		out[i] = code{Code: c}
		if e, ok := reason.Lookup(c); ok {
			out[i].Meaning, out[i].Remedy = e.Description, e.Remedy
		}
	}
	return out
}

// plain replaces the separators of a contract's identifier by spaces.
func plain(word string) string {
	return strings.ReplaceAll(strings.ReplaceAll(word, "_", " "), ".", ": ")
}

// tone returns the CSS class of a status: good, warn, bad, or none.
func tone(word string) string {
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

// tag is a word with its tone.
type tag struct {
	Text, Tone string
}

func tagOf(word string) tag { return tag{plain(word), tone(word)} }

// short abbreviates an id to its prefix and its last characters, which are random.
func short(id string) string {
	prefix, rest, ok := strings.Cut(id, "_")
	if !ok || len(rest) < 10 {
		return id
	}
	return prefix + "_…" + rest[len(rest)-8:]
}

// indented formats JSON with line breaks; it returns invalid JSON unchanged.
func indented(raw json.RawMessage) string {
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

// text returns a value of JSON on one line, and a string without quotes.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return unescaped(v, "")
}
