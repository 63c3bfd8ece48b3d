package audit

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// account holds the entries of a decision by what they record: for each transition the last entry that made it, nil if it was not made.
type account struct {
	decided, requested, refused, opened, settled, resolved, consumed, revoked, reminded, assigned *models.Event
	escalated                                                                                     map[string]*models.Event // by step and team
	reviews                                                                                       map[string]*models.Event // by step and reviewer
	steps, approved                                                                               map[string]*models.Event // by step: when it was opened, and approved first
	outcome                                                                                       outcome
	erased                                                                                        *models.Event // any that lost its personal part
}

// outcome says what became of a decision, according to the log.
type outcome struct {
	outcome    string
	at         *time.Time
	noteDigest string
	reviewer   string // whose rejection is the outcome
}

// settlements and resolutions map the entries that end a challenge or a hold to the state that each leaves.
var (
	settlements = map[events.Type]models.ChallengeStatus{
		events.ChallengeCompleted: models.ChallengeCompleted, events.ChallengeCancelled: models.ChallengeCancelled,
		events.ChallengeExpired: models.ChallengeExpired, events.ChallengeFailed: models.ChallengeFailed,
	}
	resolutions = map[events.Type]models.HoldStatus{
		events.HoldApproved: models.HoldApproved, events.HoldRejected: models.HoldRejected, events.HoldExpired: models.HoldExpired,
		events.HoldWithdrawn: models.HoldWithdrawn,
	}
)

// accountOf collects the entries of a decision.
func accountOf(d DecisionRecord) account {
	a := account{
		decided: &d.Decided, escalated: map[string]*models.Event{}, reviews: map[string]*models.Event{}, steps: map[string]*models.Event{},
		approved: map[string]*models.Event{},
	}
	for i := range d.Events {
		a.apply(&d.Events[i])
	}
	return a
}

func (a *account) apply(e *models.Event) {
	if e.ErasedAt != nil {
		a.erased = e
	}
	t := events.Type(e.Type)
	switch t {
	case events.ChallengeRequested:
		a.requested = e
	case events.ChallengeAttemptFailed, events.ChallengeFailed:
		a.refused = e
	case events.HoldOpened:
		a.opened = e
		a.steps[stepOf(e)] = e
	case events.HoldStepOpened:
		a.steps[stepOf(e)] = e
	case events.HoldStepApproved:
		if a.approved[stepOf(e)] == nil {
			a.approved[stepOf(e)] = e
		}
	case events.HoldReminder:
		a.reminded = e
	case events.HoldAssigned:
		a.assigned = e
	case events.HoldEscalated:
		a.escalated[inStep(stepOf(e), factsOf(e).text("team"))] = e
	case events.HoldReviewed:
		a.reviews[inStep(stepOf(e), e.Actor)] = e
	case events.HoldApproved:
		a.reviews[inStep(stepOf(e), e.Actor)] = e
		if a.approved[stepOf(e)] == nil && !brokeGlass(e) { // the last step
			a.approved[stepOf(e)] = e
		}
	case events.HoldRejected:
		a.reviews[inStep(stepOf(e), e.Actor)] = e
		if a.outcome.outcome == "" || a.outcome.outcome == "unknown" {
			a.outcome = outcome{outcome: factsOf(e).text("outcome"), at: &e.At, reviewer: e.Actor}
		}
	case events.ProofConsumed:
		a.consumed = e
	case events.ProofRevoked:
		a.revoked = e
	case events.OutcomeReported:
		a.outcome = outcome{outcome: factsOf(e).text("outcome"), at: &e.At, noteDigest: factsOf(e).text("note_digest")}
	}
	if _, ok := settlements[t]; ok {
		a.settled = e
	}
	if _, ok := resolutions[t]; ok {
		a.resolved = e
	}
}

// brokeGlass reports whether an entry records an approval by one person alone.
func brokeGlass(e *models.Event) bool { return factsOf(e).text("break_glass") == "true" }

// stepOf returns the name of the step that an entry is about; empty for a hold without steps.
func stepOf(e *models.Event) string { return factsOf(e).text("step") }

// inStep names something of a step; of a hold without steps it stays as it is.
func inStep(step, what string) string {
	if step == "" {
		return what
	}
	return step + " " + what
}

// nameOf returns the name of a step by its position; empty for a hold without steps.
func nameOf(steps []models.HoldStep, position int) string {
	for _, s := range steps {
		if s.Step == position {
			return s.Name
		}
	}
	return ""
}

// Contradictions compares the stored decision, its challenge, hold, reviews, proof and outcome with the log, and returns every
// difference (pg.Table).
func Contradictions(d DecisionRecord) []Finding {
	if d.Authorization == nil {
		return nil
	}
	log := accountOf(d)
	c := &comparison{target: d.Authorization.ID, event: d.Decided.ID}
	if e := log.erased; e != nil {
		c.event = e.ID
		c.add(Contradicted, "authorizations", "", "", "an entry of the decision was erased, and the decision is still stored")
		return c.findings // nothing can be compared with it
	}
	c.decision(d, log)
	c.challenge(d.Challenge, log)
	c.hold(d, log)
	c.reviews(d, log)
	c.proof(d.Proof, log)
	return c.findings
}

// made requires that the digest of the rows that an entry made is the entry's. Earlier findings say what differs.
func (c *comparison) made(table, what string, e *models.Event, digest func() (string, error)) {
	if slices.ContainsFunc(c.findings, func(f Finding) bool { return strings.HasPrefix(f.Field, table) }) {
		return
	}
	found, err := digest()
	if err != nil {
		found = err.Error()
	}
	if logged := factsOf(e).text("record_digest"); logged != found {
		c.add(Contradicted, table, logged, found, what+": what is stored is not what the log's digest covers")
	}
}

// decision compares what the entry says of the authorization and its proof, then the digest that covers the rest of them.
func (c *comparison) decision(d DecisionRecord, log account) {
	a, f := *d.Authorization, factsOf(log.decided)
	c.same("authorizations.decision", text(log.decided.Decision), a.Decision)
	c.same("authorizations.action_key", text(log.decided.Action), a.ActionKey)
	c.at("authorizations.decided_at", &log.decided.At, &a.DecidedAt)
	c.same("authorizations.subject_uid", text(log.decided.SubjectUID), a.SubjectUID)
	c.same("authorizations.mode", f.text("mode"), string(a.Mode))
	c.same("authorizations.policy_version", f.text("policy_version"), strconv.Itoa(a.PolicyVersion))
	c.same("authorizations.reason_codes", f.text("reason_codes"), listed(a.ReasonCodes))
	c.same("authorizations.coverage", f.text("coverage"), a.Coverage)
	c.same("authorizations.insufficient", f.text("insufficient_evidence"), strconv.FormatBool(a.Insufficient))
	c.same("authorizations.action_hash", f.text("action_hash"), a.ActionHash)
	c.same("authorizations.parent_id", f.text("parent"), text(a.ParentID))
	c.same("authorizations.trace_id", f.text("trace_id"), a.TraceID)
	c.same("authorizations.latency_ms", f.text("latency_ms"), strconv.Itoa(a.LatencyMS))
	c.same("authorizations.outcome", log.outcome.outcome, text(a.Outcome))
	c.at("authorizations.outcome_reported_at", log.outcome.at, a.OutcomeReportedAt)
	note := log.outcome.noteDigest
	for _, r := range d.Reviews {
		if r.Reviewer == log.outcome.reviewer {
			note = text(r.NoteDigest)
		}
	}
	c.same("authorizations.outcome_note_digest", note, text(a.OutcomeNoteDigest))
	c.made("authorizations", "authorizations or proofs", log.decided, func() (string, error) { return pg.MadeDecision(a, d.Proof) })
}

// challenge requires that a stored challenge was opened by the log, and that its state is the last one in the log.
func (c *comparison) challenge(row *models.Challenge, log account) {
	switch {
	case row == nil && log.requested == nil:
		return
	case row == nil:
		c.add(Missing, "challenges", factsOf(log.requested).text("challenge"), "", "the challenge is in the log and stored no more")
		return
	case log.requested == nil:
		c.add(Unsupported, "challenges", "", row.ID, "a challenge is stored that no entry of the log opened")
		return
	}
	f := factsOf(log.requested)
	c.same("challenges.id", f.text("challenge"), row.ID)
	c.same("challenges.methods", f.text("methods"), listed(row.Methods))
	c.same("challenges.expires_at", f.text("expires_at"), apitime.Time(row.ExpiresAt))
	c.same("challenges.display_digest", f.text("display_digest"), row.DisplayDigest)
	if shown, err := canonical.Digest(json.RawMessage(row.Display)); err != nil || shown != row.DisplayDigest {
		c.add(Contradicted, "challenges.display", row.DisplayDigest, shown, "what the person was shown is not what its digest covers")
	}
	c.made("challenges", "challenges", log.requested, func() (string, error) { return pg.RecordDigest(row) })

	status, at := models.ChallengeOpen, (*time.Time)(nil)
	if log.settled != nil {
		status, at = settlements[events.Type(log.settled.Type)], &log.settled.At
	}
	c.same("challenges.status", string(status), string(row.Status))
	c.at("challenges.settled_at", at, row.SettledAt)
	refused := cmp.Or(factsOf(log.refused).text("failures"), "0")
	c.same("challenges.failures", refused, strconv.Itoa(row.Failures))
	f = factsOf(log.settled)
	c.same("challenges.method_used", f.text("method"), text(row.MethodUsed))
	c.same("challenges.strength", f.text("strength"), text(row.Strength))
	c.same("challenges.child_authorization_id", f.text("child_authorization"), text(row.ChildAuthorizationID))
}

// hold does the same for a hold and what it requires of teams.
func (c *comparison) hold(d DecisionRecord, log account) {
	row := d.Hold
	switch {
	case row == nil && log.opened == nil:
		return
	case row == nil:
		c.add(Missing, "holds", *log.opened.AuthorizationID, "", "the hold is in the log and stored no more")
		return
	case log.opened == nil:
		c.add(Unsupported, "holds", "", row.AuthorizationID, "a hold is stored that no entry of the log opened")
		return
	}
	f := factsOf(log.opened)
	c.same("holds.risk_class", f.text("risk_class"), row.RiskClass)
	c.same("holds.due_at", log.due(d.Steps), apitime.Time(row.DueAt))
	c.same("holds.approvals_required", f.text("approvals_required"), strconv.Itoa(row.ApprovalsRequired))
	c.made("holds", "holds, hold_steps or hold_teams", log.opened, func() (string, error) { return pg.MadeHold(*row, d.Steps, d.Teams) })
	for _, t := range d.Teams {
		c.at("hold_teams.escalated_at", atOf(log.escalated[inStep(nameOf(d.Steps, t.Step), t.Team)]), t.EscalatedAt)
	}
	for _, s := range d.Steps {
		opened := log.steps[s.Name]
		c.at("hold_steps.opened_at", atOf(opened), s.OpenedAt)
		c.same("hold_steps.due_at", factsOf(opened).text("step_due_at"), text(apitime.OptionalTime(s.DueAt)))
		c.at("hold_steps.satisfied_at", atOf(log.approved[s.Name]), s.SatisfiedAt)
		fixed := ""
		if named := models.FixedOf(d.Teams, s.Step); len(named) > 0 {
			fixed = listed(named)
		}
		c.same("hold_teams.person", factsOf(opened).text("approvers"), fixed)
		escalations := ""
		if at := models.EscalationsOf(d.Teams, s.Step); len(at) > 0 {
			escalations = listed(at)
		}
		c.same("hold_teams.escalate_at", factsOf(opened).text("escalations"), escalations)
	}

	status := models.HoldPending
	if log.resolved != nil {
		status = resolutions[events.Type(log.resolved.Type)]
	}
	c.same("holds.status", string(status), string(row.Status))
	c.at("holds.resolved_at", atOf(log.resolved), row.ResolvedAt)
	c.same("holds.resolved_by", factsOf(log.resolved).text("resolved_by"), text(row.ResolvedBy))
	c.same("holds.child_authorization_id", factsOf(log.resolved).text("child_authorization"), text(row.ChildAuthorizationID))
	c.at("holds.reminded_at", atOf(log.reminded), row.RemindedAt)
	to, since := factsOf(log.assigned).text("assigned_to"), atOf(log.assigned)
	if to == "" {
		since = nil
	}
	c.same("holds.assigned_to", to, text(row.AssignedTo))
	c.at("holds.assigned_at", since, row.AssignedAt)
}

// due returns when the hold expires, according to the entry that opened its last open step.
func (a account) due(steps []models.HoldStep) string {
	last := a.opened
	for _, s := range steps {
		if e := a.steps[s.Name]; e != nil {
			last = e
		}
	}
	return factsOf(last).text("due_at")
}

// reviews compares each review with the last entry of its reviewer in its step.
func (c *comparison) reviews(d DecisionRecord, log account) {
	for _, r := range d.Reviews {
		by := inStep(nameOf(d.Steps, r.Step), r.Reviewer)
		e := log.reviews[by]
		if e == nil {
			c.add(Unsupported, "reviews", "", r.Reviewer, "a review is stored without an entry in the log")
			continue
		}
		delete(log.reviews, by)
		resolution := "approve"
		switch {
		case events.Type(e.Type) == events.HoldRejected:
			resolution = "reject"
		case brokeGlass(e):
			resolution = "break_glass"
		}
		c.same("reviews.resolution", resolution, r.Resolution)
		c.at("reviews.at", &e.At, &r.At)
		c.made("reviews", "reviews", e, func() (string, error) { return pg.RecordDigest(r) })
	}
	for reviewer := range log.reviews {
		c.add(Missing, "reviews", reviewer, "", "the review is in the log and stored no more")
	}
}

// proof requires that the decision's entry names the stored proof, and that its status is the one in the log.
func (c *comparison) proof(row *models.Proof, log account) {
	switch issued := factsOf(log.decided).text("proof_id"); {
	case issued != "" && row == nil:
		c.add(Missing, "proofs", issued, "", "the proof is in the log and stored no more")
	case issued == "" && row != nil:
		c.add(Unsupported, "proofs", "", row.JTI, "a proof is stored that no entry of the log issued")
	case row != nil:
		c.same("proofs.jti", issued, row.JTI)
	}
	if row == nil {
		return
	}
	status, by := models.ProofActive, ""
	switch {
	case log.consumed != nil:
		status, by = models.ProofConsumed, log.consumed.Actor
	case log.revoked != nil:
		status = models.ProofRevoked
	}
	c.same("proofs.status", string(status), string(row.Status))
	c.at("proofs.consumed_at", atOf(log.consumed), row.ConsumedAt)
	c.same("proofs.consumed_by", by, text(row.ConsumedBy))
	c.at("proofs.revoked_at", atOf(log.revoked), row.RevokedAt)
	c.same("proofs.revoked_reason", factsOf(log.revoked).text("reason"), text(row.RevokedReason))
}

// atOf returns the time of an entry; nil for none.
func atOf(e *models.Event) *time.Time {
	if e == nil {
		return nil
	}
	return &e.At
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// listed formats a list like facts.text, for comparison.
func listed(words []string) string {
	raw, _ := json.Marshal(append([]string{}, words...))
	return string(raw)
}
