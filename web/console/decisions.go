package console

import (
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// caseView is one decision with its evidence, reviews and history, formatted for the templates.
type caseView struct {
	Case       reads.Case
	Decided    *stamp
	Requested  *stamp
	Decision   tag
	Mode       string
	Reasons    []code
	Unmet      unmet
	Risk       tag
	Coverage   tag
	Freshness  string
	Reviews    []reviewLine
	Status     tag // of the hold
	Due        *stamp
	Opened     *stamp
	Chain      []chainRow
	Log        []logRow
	Proof      *proofView
	Challenge  *challengeView
	SubjectURL string
	Self       string // URL of the decision page; empty without the right to see it
	PolicyURL  string
	AddTo      string // URL of the form that adds a value to a list, but for the value; empty without the right
	CaseURL    string // of the customer's case system; empty if the environment sets none
	Workflows  []link
	Claims     []claimRow
	Evidence   []evidenceLine
	Ending     *ending // nil for a decision that was not held, and while its hold is pending
}

type claimRow struct {
	Name, Coverage string
	Status         tag
	ReasonCodes    []string
}

type link struct{ Label, URL string }

type reviewLine struct {
	Who        actor
	Resolution string
	Tone       string
	At         *stamp
	NoteDigest *string
	Note       string // empty if the environment did not store it
}

// Past returns the resolution in the past tense.
func (r reviewLine) Past() string { return resolved(r.Resolution) }

type chainRow struct {
	reads.ChainLink
	At       *stamp
	Decision tag
	URL      string
	Short    string
}

type logRow struct {
	At   *stamp
	Type string
	Who  actor
}

// proofView is a proof. Ended is when it was used or revoked, and By is who used it or why it was revoked.
type proofView struct {
	ID                     string
	Status                 tag
	Issued, Expires, Ended *stamp
	By                     string
}

// proof formats a proof; nil for none.
func (s stamps) proof(p *audit.Proof) *proofView {
	if p == nil {
		return nil
	}
	view := &proofView{ID: p.ID, Status: tagOf(p.Status), Issued: s.text(p.IssuedAt), Expires: s.text(p.ExpiresAt)}
	switch {
	case p.ConsumedAt != nil:
		view.Ended = s.read(p.ConsumedAt)
		if p.ConsumedBy != nil {
			view.By = *p.ConsumedBy
		}
	case p.RevokedAt != nil:
		view.Ended = s.read(p.RevokedAt)
		if p.RevokedReason != nil {
			view.By = plain(*p.RevokedReason)
		}
	case view.Expires != nil && !s.now.Before(view.Expires.Time):
		view.Status = tagOf("expired")
	}
	return view
}

type challengeView struct {
	ID       string
	Status   tag
	Expires  *stamp
	Method   *string
	Strength *string
	Failures int
}

// caseOf reads a decision and formats it.
func (c *console) caseOf(v *visit, id string) (caseView, error) {
	seen, err := c.Reader.Case(v.ctx, v.scope(), id)
	if err != nil {
		return caseView{}, err
	}
	now, t := stamps{c.Clock.Now()}, seen.Trace
	view := caseView{
		Case: seen, Decided: now.text(t.DecidedAt), Requested: now.text(t.RequestedAt), Decision: tagOf(string(t.Decision)), Mode: string(t.Mode),
		Reasons: codes(t.ReasonCodes), Unmet: unmetOf(seen.Explanation, t.Decision), Risk: tagOf(seen.RiskClass), Coverage: tagOf(seen.Account.Evidence.Coverage), Freshness: "no evidence",
	}
	if f := seen.Account.Evidence.FreshnessMS; f != nil {
		view.Freshness = span(time.Duration(*f) * time.Millisecond)
	}
	if h := seen.Account.Hold; h != nil {
		view.Status, view.Due, view.Opened = tagOf(*t.ReviewStatus), now.text(h.DueAt), now.text(h.OpenedAt)
		for _, r := range h.Reviews {
			view.Reviews = append(view.Reviews, reviewLine{
				Who: actorOf(r.Reviewer, seen.Names), Resolution: r.Resolution, Tone: reviewTone(r.Resolution), At: now.text(r.At), NoteDigest: r.NoteDigest,
			})
		}
	}
	view.Evidence = evidenceOf(seen.Account.Evidence)
	for _, k := range seen.Account.Evidence.Claims {
		view.Claims = append(view.Claims, claimRow{Name: k.Name, Coverage: k.Coverage, Status: tagOf(k.Status), ReasonCodes: k.ReasonCodes})
	}
	if len(view.Reviews) > 0 {
		notes, err := c.Holds.Notes(v.ctx, v.scope(), id)
		if err != nil {
			return caseView{}, err
		}
		for i := range view.Reviews {
			view.Reviews[i].Note = notes[view.Reviews[i].Who.Raw]
		}
	}
	view.CaseURL = tenancy.CaseLink(v.grant.Environment.CaseLink, map[string]string{"decision_id": id, "subject": t.Subject, "action": t.Action})
	view.addConsequences(now)
	c.links(v, &view)
	return view, nil
}

func reviewTone(resolution string) string {
	if resolution == "approve" {
		return "good"
	}
	return "bad"
}

// addConsequences adds the log, the proof and the challenge that followed from the decision.
func (view *caseView) addConsequences(now stamps) {
	seen, t := view.Case, view.Case.Trace
	for _, l := range seen.Log {
		view.Log = append(view.Log, logRow{At: now.text(l.At), Type: l.Type, Who: actorOf(l.Actor, seen.Names)})
	}
	view.Proof = now.proof(seen.Account.Proof)
	view.Ending = endingOf(seen, now)
	if ch := seen.Account.Challenge; ch != nil && t.Challenge != nil {
		view.Challenge = &challengeView{
			ID: ch.ID, Status: tagOf(t.Challenge.Status), Expires: now.text(ch.ExpiresAt), Method: ch.Method, Strength: ch.Strength, Failures: ch.Failures,
		}
	}
}

// links adds the links that the user's rights allow, and those to workflow runs in the Temporal UI.
func (c *console) links(v *visit, view *caseView) {
	now, t := stamps{c.Clock.Now()}, view.Case.Trace
	explore := v.may(Explore)
	for _, l := range view.Case.Chain {
		row := chainRow{ChainLink: l, At: now.text(l.At), Decision: tagOf(l.Decision), Short: short(l.ID)}
		if explore {
			row.URL = v.at("decisions", l.ID)
		}
		view.Chain = append(view.Chain, row)
		if e := view.Ending; e != nil && e.FollowUp != nil && e.FollowUp.ID == l.ID {
			e.FollowUp = &row
		}
	}
	if explore {
		view.Self = v.at("decisions", t.ID)
		if t.Subject != "" {
			view.SubjectURL = v.at("subjects", t.Subject)
		}
	}
	if v.may(SeePolicies) && view.Case.ActionID != "" {
		view.PolicyURL = v.at("policies", view.Case.ActionID, itoa(t.PolicyVersion))
	}
	if v.may(AddFromCase) {
		view.AddTo = v.at("lists", "add") + "?decision=" + url.QueryEscape(t.ID)
	}
	if c.TemporalUI == "" {
		return
	}
	if t.Challenge != nil {
		view.Workflows = append(view.Workflows, link{"Workflow run of the challenge", c.TemporalUI + "/workflows/" + url.PathEscape("challenge/"+t.Challenge.ID)})
	}
	if view.Case.Hold != nil {
		view.Workflows = append(view.Workflows, link{"Workflow run of the hold", c.TemporalUI + "/workflows/" + url.PathEscape("hold/"+t.ID)})
	}
}

func (c *console) decision(v *visit) error {
	view, err := c.caseOf(v, v.param("id"))
	if err != nil {
		return err
	}
	return v.page(fiber.StatusOK, "decision.html", "Decision", "decisions", view)
}

// searchForm is the search form of the decisions.
type searchForm struct {
	Q, Action, Decision, Mode, Review, Since, Until string
}

// searchView is a list of decisions.
type searchView struct {
	Form      searchForm
	Rows      []decisionRow
	Next      string
	Absent    bool // the search was for an authorization id that does not exist
	Decisions []string
	Modes     []string
	Reviews   []string
	Fault     string
	Export    exportLinks
	Saved     savedFilters
}

type decisionRow struct {
	ID, URL, Short, Subject, SubjectURL, Action, Mode string
	Decision, Coverage                                tag
	Reasons                                           []code
	Decided                                           *stamp
	Review, Outcome                                   string
	LatencyMS                                         int
}

const searchPage = 50

func (c *console) decisions(v *visit) error {
	view := searchView{
		Form: v.searchForm(), Decisions: decisionWords, Modes: modeWords, Reviews: reviewWords,
	}
	f := view.Form
	view.Export = v.exports(f.fields(), "decisions")
	var err error
	if view.Saved, err = c.saved(v, "decisions", f.fields()); err != nil {
		return err
	}
	if ids.Has(ids.Authorization, f.Q) {
		if _, err := c.Authorizations.Get(v.ctx, v.scope(), f.Q); err == nil {
			return v.back("decisions", f.Q)
		} else if !isAbsent(err) {
			return err
		}
		view.Absent = true
	}
	var filter authorization.TraceFilter
	if filter, view.Fault = f.filter(); view.Fault != "" || view.Absent {
		return v.page(fiber.StatusOK, "decisions.html", "Decisions", "decisions", view)
	}
	rows, next, err := c.Authorizations.List(v.ctx, v.scope(), filter, pg.Page{Limit: searchPage, After: v.query("cursor")})
	if err != nil {
		return cursorFault(err)
	}
	for _, t := range rows {
		view.Rows = append(view.Rows, c.decisionRow(v, t))
	}
	if next != "" {
		view.Next = v.at("decisions") + "?" + f.values(next)
	}
	return v.page(fiber.StatusOK, "decisions.html", "Decisions", "decisions", view)
}

// The values of the filters of decisions.
var (
	decisionWords = []string{"allow", "challenge", "hold", "deny"}
	modeWords     = []string{"enforce", "shadow", "test"}
	reviewWords   = []string{"pending", "approved", "rejected", "expired"}
)

func (v *visit) searchForm() searchForm {
	return searchForm{
		Q: v.query("q"), Action: v.query("action"), Decision: v.query("decision"), Mode: v.query("mode"), Review: v.query("review"),
		Since: v.query("since"), Until: v.query("until"),
	}
}

// filter returns the filter of the form. A fault is a message for the user.
func (f searchForm) filter() (out authorization.TraceFilter, fault string) {
	out = authorization.TraceFilter{Subject: f.Q, Action: f.Action, Decision: f.Decision, Mode: f.Mode, ReviewStatus: models.HoldStatus(f.Review)}
	out.Since, out.Until, fault = window(f.Since, f.Until)
	return out, fault
}

func (f searchForm) values(cursor string) string {
	q := f.fields()
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return q.Encode()
}

// fields returns the fields that are not empty.
func (f searchForm) fields() url.Values {
	return nonEmpty(map[string]string{"q": f.Q, "action": f.Action, "decision": f.Decision, "mode": f.Mode, "review": f.Review, "since": f.Since, "until": f.Until})
}

// nonEmpty returns the values that are not empty, for a query string.
func nonEmpty(values map[string]string) url.Values {
	q := url.Values{}
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// window parses two times of datetime-local fields as UTC. A fault is a message for the user.
func window(since, until string) (from, to *time.Time, fault string) {
	read := func(name, text string) *time.Time {
		if text == "" {
			return nil
		}
		t, err := formTime(text)
		if err != nil {
			fault = name + " must be a date, or a date with a time."
			return nil
		}
		return &t
	}
	return read("From", since), read("Until", until), fault
}

// formTime parses a time in UTC as a form sends it: a date, to the minute or to the second, with or without Z.
func formTime(text string) (time.Time, error) {
	text = strings.TrimSuffix(text, "Z")
	switch len(text) {
	case len("2006-01-02"):
		text += "T00:00:00"
	case len("2006-01-02T15:04"):
		text += ":00"
	}
	return apitime.Parse(text + "Z")
}

func (c *console) decisionRow(v *visit, t authorization.Trace) decisionRow {
	row := decisionRow{
		ID: t.ID, URL: v.at("decisions", t.ID), Short: short(t.ID), Subject: t.Subject, Action: t.Action, Mode: string(t.Mode),
		Decision: tagOf(string(t.Decision)), Reasons: codes(t.ReasonCodes), Decided: stamps{c.Clock.Now()}.text(t.DecidedAt), LatencyMS: t.LatencyMS,
	}
	if t.Subject != "" {
		row.SubjectURL = v.at("subjects", t.Subject)
	}
	if t.ReviewStatus != nil {
		row.Review = *t.ReviewStatus
	}
	if t.Outcome != nil {
		row.Outcome = *t.Outcome
	}
	row.Coverage = tagOf(coverageOf(t))
	return row
}

// errVersion is the error for a version that is not a number.
func errVersion() error { return problem.NewNotFound() }
