package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteText writes the trail as plain text for a person to read.
func (t Trail) WriteText(w io.Writer) error {
	p := &printer{w: w}
	subject := t.Subject
	if subject == "" {
		subject = "(erased)"
	}
	p.line(0, "Authorization %s", t.Authorization)
	p.line(0, "Environment %s, subject %s, action %s", t.Environment, subject, t.Action)
	p.contradictions(t.Decisions)
	p.line(0, "")
	p.line(0, "In short")
	for _, d := range t.Decisions {
		p.short(d)
	}
	for i, d := range t.Decisions {
		p.line(0, "")
		p.decision(i+1, d)
	}
	p.line(0, "")
	p.line(0, "Log")
	for _, l := range t.Log {
		unsealed := ""
		if l.Sequence == 0 {
			unsealed = " (not sealed yet)"
		}
		p.line(1, "%s  %-24s %s  %s%s", l.At, l.Type, l.Actor, describe(l.Type), unsealed)
	}
	for _, h := range t.Workflows {
		p.line(0, "")
		p.line(0, "Workflow %s, run %s: %s", h.ID, or(h.Run, "-"), h.Status)
		for _, e := range h.Lines {
			p.line(1, "%s  %s  %s", e.At, e.Type, e.Detail)
		}
	}
	return p.err
}

// contradictions prints first the differences between stored data and the log.
func (p *printer) contradictions(decisions []Decision) {
	title := "CONTRADICTION: what is stored is not what the audit log says"
	for _, d := range decisions {
		for _, f := range d.Contradictions {
			if title != "" {
				p.line(0, "")
				p.line(0, "%s", title)
				title = ""
			}
			p.line(1, "%s: %s %s", d.ID, f.Kind, f.Detail)
		}
	}
}

// printer stores the first write error, so that the calls need no check each.
type printer struct {
	w   io.Writer
	err error
	// Content hash of the policy printed last.
	policy string
}

// line prints one line with two spaces per level of indentation.
func (p *printer) line(indent int, format string, args ...any) {
	if p.err == nil {
		text := strings.TrimRight(strings.Repeat("  ", indent)+fmt.Sprintf(format, args...), " ")
		_, p.err = io.WriteString(p.w, text+"\n")
	}
}

// decision prints one decision with its policy, evidence, challenge, hold, proof and outcome.
func (p *printer) decision(n int, d Decision) {
	p.line(0, "%d. Decided %s at %s (%s)", n, strings.ToUpper(d.Decision), d.At, d.ID)
	p.line(1, "mode %s, asked by %s for audience %s", d.Mode, d.Credential, d.Audience)
	if d.Parent != nil {
		p.line(1, "follows from %s", *d.Parent)
	}
	p.line(1, "reasons: %s", list(d.ReasonCodes))
	p.line(1, "resource: %s %s", d.ResourceType, d.ResourceDigest)
	p.line(1, "context: %s", d.ContextDigest)
	for _, shown := range d.Details {
		p.line(1, "shown: %s: %s", shown.Label, shown.Value)
	}
	p.line(1, "action hash: %s", d.ActionHash)
	p.evidence(d.Evidence)
	p.line(1, "Policy version %d, %s", d.Policy.Version, d.Policy.ContentHash)
	if d.Policy.ActivatedAt != nil {
		p.line(2, "activated %s by %s", *d.Policy.ActivatedAt, value(d.Policy.ActivatedBy))
	}
	p.requirements(d.Policy)
	p.line(1, "What each requirement found")
	p.explanation(d.Explanation)
	if d.Challenge != nil {
		p.challenge(*d.Challenge)
	}
	if d.Hold != nil {
		p.hold(*d.Hold)
	}
	if d.Proof != nil {
		p.proof(*d.Proof)
	}
	if d.Outcome != nil {
		p.line(1, "Outcome %s, reported %s", *d.Outcome, value(d.OutcomeAt))
	}
}

// short prints a decision and its consequences in a few words.
func (p *printer) short(d Decision) {
	p.line(1, "%s  %s: %s", d.At, strings.ToUpper(d.Decision), list(d.ReasonCodes))
	if c := d.Challenge; c != nil {
		p.line(2, "step-up %s at %s, by %s", c.Status, value(c.SettledAt), value(c.Method))
	}
	if h := d.Hold; h != nil {
		p.line(2, "review %s at %s, by %s", h.Status, value(h.ResolvedAt), value(h.ResolvedBy))
	}
	if f := d.Proof; f != nil {
		p.line(2, "proof %s, issued %s", f.Status, f.IssuedAt)
	}
	if d.Outcome != nil {
		p.line(2, "outcome %s", *d.Outcome)
	}
}

// requirements prints the policy's text, once for consecutive decisions under the same policy.
func (p *printer) requirements(v Policy) {
	if p.policy == v.ContentHash {
		p.line(2, "its text is above")
		return
	}
	p.policy = v.ContentHash
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(v.Requirements, &fields); err != nil {
		p.json(2, v.Requirements)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p.line(2, "%s: %s", name, fields[name])
	}
}

// explanation prints one line per requirement and marks those that failed. A format of another version is printed as stored.
func (p *printer) explanation(raw json.RawMessage) {
	var checks []struct {
		Requirement, Wanted, Found, Effect string
		Passed                             bool
	}
	if err := json.Unmarshal(raw, &checks); err != nil || len(checks) == 0 || checks[0].Requirement == "" {
		p.json(2, raw)
		return
	}
	for _, c := range checks {
		if c.Passed {
			p.line(2, "met     %s: wanted %s, found %s", c.Requirement, c.Wanted, c.Found)
		} else {
			p.line(2, "NOT MET %s: wanted %s, found %s, so %s", c.Requirement, c.Wanted, c.Found, c.Effect)
		}
	}
}

// evidence prints the profile of a decision and its claims.
func (p *printer) evidence(e Evidence) {
	p.line(1, "Evidence: coverage %s, %d windows, %.1f active seconds, %s; session %s; model %s", e.Coverage, e.Windows, e.Active,
		list(e.Modalities), value(e.Session), or(e.Model, "-"))
	if e.FreshnessMS != nil {
		p.line(2, "%d ms old", *e.FreshnessMS)
	}
	for _, c := range e.Claims {
		p.line(2, "%s: %s (coverage %s; %s)", c.Name, c.Status, c.Coverage, list(c.ReasonCodes))
	}
}

// challenge prints the step-up and what the person was shown.
func (p *printer) challenge(c Challenge) {
	p.line(1, "Challenge %s: %s", c.ID, c.Status)
	p.line(2, "settled %s, method %s, strength %s, %d refused attempts, would expire %s", value(c.SettledAt), value(c.Method), value(c.Strength),
		c.Failures, c.ExpiresAt)
	p.line(2, "the person was shown:")
	p.json(3, c.Display)
	if c.Child != nil {
		p.line(2, "decided again as %s", *c.Child)
	}
}

func (p *printer) hold(h Hold) {
	p.line(1, "Review: %s, opened %s, due %s, %d approval(s) wanted", h.Status, h.OpenedAt, h.DueAt, h.Required)
	for _, r := range h.Reviews {
		p.line(2, "%s: %s by %s, note %s", r.At, r.Resolution, r.Reviewer, value(r.NoteDigest))
	}
	if h.ResolvedAt != nil {
		p.line(2, "resolved %s by %s", *h.ResolvedAt, value(h.ResolvedBy))
	}
	if h.Child != nil {
		p.line(2, "decided again as %s", *h.Child)
	}
}

func (p *printer) proof(f Proof) {
	p.line(1, "Proof %s: %s", f.ID, f.Status)
	p.line(2, "issued %s under key %s, good until %s", f.IssuedAt, f.Key, f.ExpiresAt)
	if f.ConsumedAt != nil {
		p.line(2, "consumed %s by %s", *f.ConsumedAt, value(f.ConsumedBy))
	}
	if f.RevokedAt != nil {
		p.line(2, "revoked %s: %s", *f.RevokedAt, value(f.RevokedReason))
	}
}

// json prints a document indented; it is printed as stored if it is not JSON.
func (p *printer) json(indent int, raw json.RawMessage) {
	var out bytes.Buffer
	prefix := strings.Repeat("  ", indent)
	if err := json.Indent(&out, raw, prefix, "  "); err != nil {
		p.line(indent, "%s", raw)
		return
	}
	p.line(indent, "%s", out.String())
}

func list(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

func value(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
