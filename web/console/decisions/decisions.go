package decisions

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// CaseView is one decision with its evidence, reviews and history, formatted for the templates.
type CaseView struct {
	Case       reads.Case
	Decided    *show.Stamp
	Requested  *show.Stamp
	Decision   show.Tag
	Mode       string
	Reasons    []show.Code
	Unmet      unmet
	Risk       show.Tag
	Coverage   show.Tag
	Freshness  string
	Reviews    []ReviewLine
	Status     show.Tag // of the hold
	Due        *show.Stamp
	Opened     *show.Stamp
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
	Status         show.Tag
	ReasonCodes    []string
}

type link struct{ Label, URL string }

// ReviewLine is one review of a hold.
type ReviewLine struct {
	Who        show.Actor
	Resolution string
	Tone       string
	At         *show.Stamp
	NoteDigest *string
	Note       string // empty if the environment did not store it
}

// Past returns the resolution in the past tense.
func (r ReviewLine) Past() string { return show.Resolved(r.Resolution) }

type chainRow struct {
	reads.ChainLink
	At       *show.Stamp
	Decision show.Tag
	URL      string
	Short    string
}

type logRow struct {
	At   *show.Stamp
	Type string
	Who  show.Actor
}

// proofView is a proof. Ended is when it was used or revoked, and By is who used it or why it was revoked.
type proofView struct {
	ID                     string
	Status                 show.Tag
	Issued, Expires, Ended *show.Stamp
	By                     string
}

// proofOf formats a proof; nil for none.
func proofOf(s show.Stamps, p *audit.Proof) *proofView {
	if p == nil {
		return nil
	}
	view := &proofView{ID: p.ID, Status: show.TagOf(p.Status), Issued: s.Text(p.IssuedAt), Expires: s.Text(p.ExpiresAt)}
	switch {
	case p.ConsumedAt != nil:
		view.Ended = s.Read(p.ConsumedAt)
		if p.ConsumedBy != nil {
			view.By = *p.ConsumedBy
		}
	case p.RevokedAt != nil:
		view.Ended = s.Read(p.RevokedAt)
		if p.RevokedReason != nil {
			view.By = show.Plain(*p.RevokedReason)
		}
	case p.Status == string(models.ProofActive) && view.Expires != nil && !s.Now.Before(view.Expires.Time):
		view.Status = show.TagOf("expired")
	}
	return view
}

type challengeView struct {
	ID       string
	Status   show.Tag
	Expires  *show.Stamp
	Method   *string
	Strength *string
	Failures int
}

// CaseOf reads a decision and formats it.
func (c *Pages) CaseOf(v *shell.Visit, id string) (CaseView, error) {
	seen, err := c.Reader.Case(v.Context, v.Scope(), id)
	if err != nil {
		return CaseView{}, err
	}
	now, t := show.Stamps{Now: c.Clock.Now()}, seen.Trace
	view := CaseView{
		Case: seen, Decided: now.Text(t.DecidedAt), Requested: now.Text(t.RequestedAt), Decision: show.TagOf(string(t.Decision)), Mode: string(t.Mode),
		Reasons: show.Codes(t.ReasonCodes), Unmet: unmetOf(seen.Explanation, t.Decision), Risk: show.TagOf(seen.RiskClass), Coverage: show.TagOf(seen.Account.Evidence.Coverage), Freshness: "no evidence",
	}
	if f := seen.Account.Evidence.FreshnessMS; f != nil {
		view.Freshness = show.Span(time.Duration(*f) * time.Millisecond)
	}
	if h := seen.Account.Hold; h != nil {
		view.Status, view.Due, view.Opened = show.TagOf(*t.ReviewStatus), now.Text(h.DueAt), now.Text(h.OpenedAt)
		for _, r := range h.Reviews {
			view.Reviews = append(view.Reviews, ReviewLine{
				Who: show.ActorOf(r.Reviewer, seen.Names), Resolution: r.Resolution, Tone: reviewTone(r.Resolution), At: now.Text(r.At), NoteDigest: r.NoteDigest,
			})
		}
	}
	view.Evidence = evidenceOf(seen.Account.Evidence)
	for _, k := range seen.Account.Evidence.Claims {
		view.Claims = append(view.Claims, claimRow{Name: k.Name, Coverage: k.Coverage, Status: show.TagOf(k.Status), ReasonCodes: k.ReasonCodes})
	}
	if len(view.Reviews) > 0 {
		notes, err := c.Holds.Notes(v.Context, v.Scope(), id)
		if err != nil {
			return CaseView{}, err
		}
		for i := range view.Reviews {
			view.Reviews[i].Note = notes[view.Reviews[i].Who.Raw]
		}
	}
	view.CaseURL = tenancy.CaseLink(v.Grant.Environment.CaseLink, map[string]string{"decision_id": id, "subject": t.Subject, "action": t.Action})
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
func (view *CaseView) addConsequences(now show.Stamps) {
	seen, t := view.Case, view.Case.Trace
	for _, l := range seen.Log {
		view.Log = append(view.Log, logRow{At: now.Text(l.At), Type: l.Type, Who: show.ActorOf(l.Actor, seen.Names)})
	}
	view.Proof = proofOf(now, seen.Account.Proof)
	view.Ending = endingOf(seen, now)
	if ch := seen.Account.Challenge; ch != nil && t.Challenge != nil {
		view.Challenge = &challengeView{
			ID: ch.ID, Status: show.TagOf(t.Challenge.Status), Expires: now.Text(ch.ExpiresAt), Method: ch.Method, Strength: ch.Strength, Failures: ch.Failures,
		}
	}
}

// links adds the links that the user's rights allow, and those to workflow runs in the Temporal UI.
func (c *Pages) links(v *shell.Visit, view *CaseView) {
	now, t := show.Stamps{Now: c.Clock.Now()}, view.Case.Trace
	explore := v.May(shell.ReadDecisions)
	for _, l := range view.Case.Chain {
		row := chainRow{ChainLink: l, At: now.Text(l.At), Decision: show.TagOf(l.Decision), Short: show.Short(l.ID)}
		if explore {
			row.URL = v.At("decisions", l.ID)
		}
		view.Chain = append(view.Chain, row)
		if e := view.Ending; e != nil && e.FollowUp != nil && e.FollowUp.ID == l.ID {
			e.FollowUp = &row
		}
	}
	if explore {
		view.Self = v.At("decisions", t.ID)
		if t.Subject != "" {
			view.SubjectURL = v.At("subjects", t.Subject)
		}
	}
	if v.May(shell.ReadConfig) && view.Case.ActionID != "" {
		view.PolicyURL = v.At("policies", view.Case.ActionID, strconv.Itoa(t.PolicyVersion))
	}
	if v.May(shell.AddFromCase) {
		view.AddTo = v.At("lists", "add") + "?decision=" + url.QueryEscape(t.ID)
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

func (c *Pages) decision(v *shell.Visit) error {
	view, err := c.CaseOf(v, v.Param("id"))
	if err != nil {
		return err
	}
	return v.Page(fiber.StatusOK, "decision.html", "Decision", "decisions", view)
}

// Title names the request: what the schema of the action marks as its title, or otherwise the subject.
func (view CaseView) Title() string {
	return cmp.Or(view.Case.Outline.Title, view.Case.Trace.Subject, view.Case.Display.Action)
}

// Urgency is the CSS class of the due time.
func (view CaseView) Urgency() string {
	if view.Due == nil {
		return ""
	}
	return show.Urgency(*view.Due)
}

// Profile is the part of a decision's assurance profile that the plot uses.
type Profile struct {
	Coverage string `json:"coverage"`
	Claims   []struct {
		Claim  string `json:"claim"`
		Status string `json:"status"`
	} `json:"claims"`
}

// ProfileOf returns what the plot uses of a decision.
func ProfileOf(t authorization.Trace) Profile {
	var p Profile
	_ = json.Unmarshal(t.Assurance, &p) // fields that a different version wrote may be missing
	return p
}

func coverageOf(t authorization.Trace) string { return ProfileOf(t).Coverage }

// Continuity returns the status of the claim that the operator is the enrolled person.
func (p Profile) Continuity() string {
	for _, c := range p.Claims {
		if c.Claim == "operator_continuity" {
			return c.Status
		}
	}
	return "insufficient_evidence"
}

// The levels of operator continuity and of coverage, lowest first.
var (
	ContinuityLevels = []string{"insufficient_evidence", "not_confirmed", "uncertain", "likely", "confirmed"}
	CoverageLevels   = []string{"none", "sparse", "partial", "sufficient"}
)
