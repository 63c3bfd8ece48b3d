package audit

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"

	"github.com/countersign-dev/countersign/models"
)

// account holds the entries of a decision by what they record: for each transition the entry that made it, nil if it was not made.
type account struct {
	decided, requested, opened, settled, resolved, consumed, revoked *models.Event
	outcome                                                          string
	reviewers                                                        []string
}

// settlements and resolutions map the entries that end a challenge or a hold to the state that each leaves.
var (
	settlements = map[events.Type]models.ChallengeStatus{
		events.ChallengeCompleted: models.ChallengeCompleted, events.ChallengeCancelled: models.ChallengeCancelled,
		events.ChallengeExpired: models.ChallengeExpired, events.ChallengeFailed: models.ChallengeFailed,
	}
	resolutions = map[events.Type]models.HoldStatus{
		events.HoldApproved: models.HoldApproved, events.HoldRejected: models.HoldRejected, events.HoldExpired: models.HoldExpired,
	}
)

// accountOf collects the entries of a decision. If several entries of one kind exist, the last one counts.
func accountOf(d DecisionRecord) account {
	a := account{decided: &d.Decided}
	for i := range d.Events {
		e := &d.Events[i]
		t := events.Type(e.Type)
		switch t {
		case events.ChallengeRequested:
			a.requested = e
		case events.HoldOpened:
			a.opened = e
		case events.ProofConsumed:
			a.consumed = e
		case events.ProofRevoked:
			a.revoked = e
		case events.OutcomeReported:
			a.outcome = factsOf(e).text("outcome")
		case events.HoldReviewed:
			a.reviewers = append(a.reviewers, e.Actor)
		}
		if _, ok := settlements[t]; ok {
			a.settled = e
		}
		if _, ok := resolutions[t]; ok {
			a.resolved = e
			a.reviewers = append(a.reviewers, e.Actor)
			if o := factsOf(e).text("outcome"); o != "" {
				a.outcome = o
			}
		}
	}
	return a
}

// Contradictions compares the stored decision, its challenge, hold, reviews, proof and outcome with the log, and returns every
// difference. Fields past their retention are not compared.
func Contradictions(d DecisionRecord) []Finding {
	if d.Authorization == nil {
		return nil
	}
	log := accountOf(d)
	c := &comparison{target: d.Authorization.ID, event: d.Decided.ID}
	c.decision(d, log)
	c.challenge(d.Challenge, log)
	c.hold(d, log)
	c.proof(d.Proof, log)
	return c.findings
}

// decision compares the fields of the authorization, then the digest that covers the rest of it.
func (c *comparison) decision(d DecisionRecord, log account) {
	a := *d.Authorization
	c.same("decision", text(log.decided.Decision), a.Decision)
	c.same("action", text(log.decided.Action), a.ActionKey)
	c.same("decided_at", apitime.Time(log.decided.At), apitime.Time(a.DecidedAt))
	f := factsOf(log.decided)
	if f == nil {
		return // its personal part is past its retention
	}
	c.same("subject", text(log.decided.SubjectUID), a.SubjectUID)
	c.same("mode", f.text("mode"), string(a.Mode))
	c.same("policy_version", f.text("policy_version"), strconv.Itoa(a.PolicyVersion))
	c.same("reason_codes", f.text("reason_codes"), listed(a.ReasonCodes))
	c.same("coverage", f.text("coverage"), a.Coverage)
	c.same("insufficient_evidence", f.text("insufficient_evidence"), strconv.FormatBool(a.Insufficient))
	c.same("action_hash", f.text("action_hash"), a.ActionHash)
	c.same("parent", f.text("parent"), text(a.ParentID))
	c.same("trace_id", f.text("trace_id"), a.TraceID)
	c.same("outcome", log.outcome, text(a.Outcome))
	if len(c.findings) > 0 || !f.has("record_digest") {
		return // the digest would only repeat the findings, or is missing in entries of earlier versions
	}
	if log := f.text("record_digest"); log != recordOf(d) {
		c.add(Contradicted, "record_digest", log, recordOf(d),
			"the stored decision, its evidence, its explanation or its proof's key and expiry is not what the log's digest covers")
	}
}

// recordOf computes the digest of the stored decision as it was computed when it was made (internal/authz/authorization).
func recordOf(d DecisionRecord) string {
	return events.Record{Authorization: *d.Authorization, Proof: d.Proof, Findings: findingsOf(*d.Authorization)}.Digest()
}

// findingsOf reads the claims and the explanation back in the order in which the decision hashed them.
func findingsOf(a models.Authorization) []string {
	var profile struct {
		Claims []struct{ Claim, Status string } `json:"claims"`
	}
	var explanation []struct{ Requirement, Wanted, Found, Effect string }
	// Unreadable documents yield no findings, and therefore a different digest.
	_ = json.Unmarshal(a.Assurance, &profile)
	_ = json.Unmarshal(a.Explanation, &explanation)
	var out []string
	for _, p := range profile.Claims {
		out = append(out, p.Claim, p.Status)
	}
	for _, e := range explanation {
		out = append(out, e.Requirement, e.Wanted, e.Found, e.Effect)
	}
	return out
}

// challenge requires that a stored challenge was opened by the log, and that its state is the one that the log left it in.
func (c *comparison) challenge(row *models.Challenge, log account) {
	switch {
	case row == nil && log.requested == nil:
		return
	case row == nil:
		c.add(Missing, "challenge", factsOf(log.requested).text("challenge"), "", "the challenge is in the log and stored no more")
		return
	case log.requested == nil:
		c.add(Unsupported, "challenge", "", row.ID, "a challenge is stored that no entry of the log opened")
		return
	}
	status := models.ChallengeOpen
	if log.settled != nil {
		status = settlements[events.Type(log.settled.Type)]
	}
	c.same("challenge.status", string(status), string(row.Status))
	if f := factsOf(log.requested); f != nil {
		c.same("challenge", f.text("challenge"), row.ID)
		c.same("challenge.methods", f.text("methods"), listed(row.Methods))
		c.same("challenge.expires_at", f.text("expires_at"), apitime.Time(row.ExpiresAt))
		if f.has("display_digest") {
			c.same("challenge.display_digest", f.text("display_digest"), row.DisplayDigest)
			shown, err := canonical.Digest(json.RawMessage(row.Display))
			if err != nil || shown != row.DisplayDigest {
				c.add(Contradicted, "challenge.display", row.DisplayDigest, shown, "what the person was shown is not what its digest covers")
			}
		}
	}
	if f := factsOf(log.settled); f != nil && status == models.ChallengeCompleted {
		c.same("challenge.method", f.text("method"), text(row.MethodUsed))
		c.same("challenge.follow_up", f.text("child_authorization"), text(row.ChildAuthorizationID))
	}
}

// hold does the same for a hold, and requires a log entry of every stored review.
func (c *comparison) hold(d DecisionRecord, log account) {
	row := d.Hold
	switch {
	case row == nil && log.opened == nil:
		return
	case row == nil:
		c.add(Missing, "hold", *log.opened.AuthorizationID, "", "the hold is in the log and stored no more")
		return
	case log.opened == nil:
		c.add(Unsupported, "hold", "", row.AuthorizationID, "a hold is stored that no entry of the log opened")
		return
	}
	status := models.HoldPending
	if log.resolved != nil {
		status = resolutions[events.Type(log.resolved.Type)]
	}
	c.same("hold.status", string(status), string(row.Status))
	if f := factsOf(log.opened); f != nil {
		c.same("hold.risk_class", f.text("risk_class"), row.RiskClass)
		c.same("hold.due_at", f.text("due_at"), apitime.Time(row.DueAt))
		c.same("hold.approvals_required", f.text("approvals_required"), strconv.Itoa(row.ApprovalsRequired))
	}
	if f := factsOf(log.resolved); f != nil && f.has("resolved_by") {
		c.same("hold.resolved_by", f.text("resolved_by"), text(row.ResolvedBy))
		c.same("hold.follow_up", f.text("child_authorization"), text(row.ChildAuthorizationID))
	}
	for _, r := range d.Reviews {
		if !slices.Contains(log.reviewers, r.Reviewer) {
			c.add(Unsupported, "review", "", r.Reviewer, "a review is stored without an entry in the log")
		}
	}
}

// proof requires that the decision's entry names the stored proof, and that its status is the one in the log.
func (c *comparison) proof(row *models.Proof, log account) {
	if f := factsOf(log.decided); f != nil {
		switch issued := f.text("proof_id"); {
		case issued != "" && row == nil:
			c.add(Missing, "proof", issued, "", "the proof is in the log and stored no more")
		case issued == "" && row != nil:
			c.add(Unsupported, "proof", "", row.JTI, "a proof is stored that no entry of the log issued")
		case row != nil:
			c.same("proof", issued, row.JTI)
		}
	}
	if row == nil {
		return
	}
	status := models.ProofActive
	switch {
	case log.consumed != nil:
		status = models.ProofConsumed
		c.same("proof.consumed_by", log.consumed.Actor, text(row.ConsumedBy))
	case log.revoked != nil:
		status = models.ProofRevoked
	}
	c.same("proof.status", string(status), string(row.Status))
	if f := factsOf(log.revoked); f != nil && status == models.ProofRevoked {
		c.same("proof.revoked_reason", f.text("reason"), text(row.RevokedReason))
	}
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
