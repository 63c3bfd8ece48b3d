package authorization

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/people"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/localtime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// decisionInput is everything a decision is made from except the time.
type decisionInput struct {
	base       models.Authorization // the fields of the row that are known before deciding
	force      *action.InForce
	details    []display.Detail     // of the request; nil for an action that shows none
	kept       *storedvalues.Values // of the request; nil for an action that keeps none
	aggregates []rules.Aggregate    // those of facts.Numbers
	facts      Facts
	counts     []rules.Count     // those of facts.Tallies
	named      map[string]string // values of the request that name people, by field; nil for a follow-up decision
	people     map[string]string // ids of the people whom the first decision's request names; nil for the first decision
	lookup     *lists.Lookup     // nil if the rules ask no list
	request    *request          // nil for a follow-up decision
	earlier    []rules.Earlier   // the rules that applied to the decision that this one follows
	again      rules.Again       // whether a follow-up decision evaluates the limits of the resource anew, with kept
	kind       policy.EnvironmentKind
	env        *models.Environment // the current settings; nil to use the cached ones
	archived   bool
	start      time.Time
	actor      string // for the events
	requestID  string
	workflowID string
	standing   *models.StandingApproval                         // the one that the request uses, its use counted; nil for none
	opens      *opening                                         // the standing approval that the request asks for; nil for none
	ahead      *ahead                                           // of a decision under locks; nil without them
	cause      func(followUp models.Authorization) events.Entry // of a follow-up decision; nil adds none
}

// decision is one decision under construction: what it is made from, what it came to, and what is written and returned.
type decision struct {
	in      decisionInput
	now     time.Time
	profile assurance.Profile
	verdict policy.Decision
	// question has the facts behind verdict.
	question policy.Input
	// requirements are those of the policy and of the rules that matched.
	requirements policy.Requirements
	row          Decision // everything to write, in one transaction
	response     Response
	body         []byte // the response as it is returned
}

// scope returns the environment that the decision belongs to.
func (d *decision) scope() pg.Scope {
	return pg.Scope{Tenant: d.in.base.TenantID, Environment: d.in.base.EnvironmentID}
}

// decide assesses the subject, decides, and builds everything to be written, with the response. It reads through
// q only: a transaction that waited for a second connection could wait for itself.
func (s *Service) decide(ctx context.Context, q *pg.Q, in decisionInput, now time.Time) (*decision, error) {
	profile, err := s.assessor.Assess(in.facts.Subject, in.facts.Session, in.facts.Heads, now)
	if err != nil {
		return nil, err
	}
	usable, err := usablePasskeys(ctx, q, in)
	if err != nil {
		return nil, err
	}
	question := question(in, profile, usable, now)
	if in.opens == nil { // what a rule reads of a request, the request for a standing approval does not have; each use has it
		question.Rules, question.Lists = s.matched(ctx, in, profile, now), in.lookup.Reads()
	}
	verdict := policy.Decide(question)
	a, err := record(in, profile, verdict, now)
	if err != nil {
		return nil, err
	}
	d := &decision{
		in: in, now: now, profile: profile, verdict: verdict, question: question, requirements: question.Effective(),
		row:      Decision{Authorization: a, SubjectAsOf: in.facts.Subject.UpdatedAt},
		response: respond(&a, profile, remainder{HumanReadable: verdict.HumanReadable}),
	}
	if d.row.Details, err = s.shownDetails(a, in.details, question.Rules); err != nil {
		return nil, err
	}
	if err := d.keepWaiting(); err != nil {
		return nil, err
	}
	if d.row.Kept, err = s.keptValues(a, d.in.kept); err != nil {
		return nil, err
	}
	if err := s.addAggregates(ctx, q, d); err != nil {
		return nil, err
	}
	if err := s.addConsequences(ctx, q, d); err != nil {
		return nil, err
	}
	// Nothing is written here: the caller writes the rows in one transaction, so that a decision is written atomically.
	if d.row.Authorization.Response, err = json.Marshal(d.response.remainder()); err != nil {
		return nil, err
	}
	if h := d.response.Hold; h != nil {
		h.StatusURL = s.status.Complete(h.StatusURL)
	}
	if d.body, err = json.Marshal(d.response); err != nil {
		return nil, err
	}
	d.row.Events, err = eventRows(d)
	return d, err
}

// shownDetails returns the row with the sealed details of a decision, and the sums of such that its rules read; nil if there are none.
func (s *Service) shownDetails(a models.Authorization, details []display.Detail, matched []policy.MatchedRule) (*models.ShownDetails, error) {
	var totals []display.Detail
	for _, m := range matched {
		for _, t := range m.Totals {
			totals = append(totals, display.Detail{Label: totalOf(m.Name, t.Label), Value: t.Value})
		}
	}
	if len(details)+len(totals) == 0 {
		return nil, nil
	}
	sealed, err := s.vault.Seal(a.ID, details, totals)
	return &models.ShownDetails{
		AuthorizationID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, SubjectUID: a.SubjectUID, Details: sealed, DecidedAt: a.DecidedAt,
	}, err
}

// keptValues returns the row with the sealed values that are kept for simulations; nil if there are none.
func (s *Service) keptValues(a models.Authorization, values *storedvalues.Values) (*models.KeptValues, error) {
	if values == nil {
		return nil, nil
	}
	sealed, err := s.kept.Seal(a.ID, values)
	return &models.KeptValues{
		AuthorizationID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, SubjectUID: a.SubjectUID, Kept: sealed, DecidedAt: a.DecidedAt,
	}, err
}

// question returns the facts that the policy decides on; passkeys is the number that the subject could complete a challenge with.
func question(in decisionInput, profile assurance.Profile, passkeys int, now time.Time) policy.Input {
	q := policy.Input{
		Requirements: in.force.Contract.Requirements, Environment: in.kind, Mode: policy.Mode(in.base.Mode), Assurance: profile.Facts(),
		SubjectRevoked: in.facts.Subject.Status != models.SubjectActive, SubjectSuspected: in.facts.Subject.Suspected(now), ActionArchived: in.archived,
		ChallengesUsed: in.base.ChallengesUsed, HoldApproved: in.base.HoldApproved, BreakGlass: in.base.BreakGlass,
	}
	if in.base.ChallengeCompleted != nil {
		q.ChallengeCompleted = policy.Method(*in.base.ChallengeCompleted)
	}
	q.UsableMethods = policy.Usable(passkeys, in.kind)
	if in.opens != nil {
		q.StandingAsked = policy.StandingSource(in.opens.row.Source)
	}
	if in.standing != nil {
		q.Standing = &policy.GivenStanding{Source: policy.StandingSource(in.standing.Source)}
	}
	return q
}

// record completes the row of the authorization.
func record(in decisionInput, profile assurance.Profile, verdict policy.Decision, now time.Time) (models.Authorization, error) {
	a := in.base
	a.ID, a.DecidedAt = in.ahead.idOf(verdict), now
	a.Decision, a.ReasonCodes = string(verdict.Effect), verdict.ReasonCodes
	a.Coverage, a.Insufficient = string(profile.Coverage), profile.InsufficientEvidence
	a.OperatorChanged = profile.Claim(scoring.ClaimChange).Status == scoring.Detected
	if !a.SessionPinned { // a pinned session stays, even after it was deleted
		a.SessionID = profile.Session
	}
	a.LatencyMS = int(max(now.Sub(in.start), 0).Milliseconds())
	var err error
	if a.Explanation, err = json.Marshal(verdict.Explanation); err != nil {
		return a, err
	}
	a.Assurance, err = json.Marshal(profile)
	return a, err
}

// addConsequences adds what the decision leads to: in shadow mode nothing, in test mode challenges and holds, in enforce mode
// proofs as well.
func (s *Service) addConsequences(ctx context.Context, q *pg.Q, d *decision) error {
	mode := d.in.base.Mode
	if err := s.namePeople(ctx, q, d); err != nil {
		return err
	}
	switch {
	case mode == models.ModeShadow:
		return nil
	case d.verdict.Effect == policy.Allow && mode == models.ModeEnforce && d.in.opens == nil:
		return s.addProof(ctx, q, d)
	case d.verdict.Effect == policy.Challenge:
		return s.addChallenge(ctx, q, d)
	case d.verdict.Effect == policy.Hold:
		return s.addHold(ctx, q, d)
	default:
		return nil
	}
}

// addProof signs the proof of an allowed action.
func (s *Service) addProof(ctx context.Context, q *pg.Q, d *decision) error {
	found := signing.Findings{
		Kind: string(d.in.kind), ByEvidence: d.verdict.ByEvidence, Subject: d.profile.Subject, FreshnessMS: d.profile.FreshnessMS,
		Statuses: make(map[string]string, len(d.profile.Claims)),
	}
	for _, c := range d.profile.Claims {
		found.Statuses[c.Claim] = string(c.Status)
	}
	p, compact, err := s.proofs.Issue(ctx, q, &d.row.Authorization, found, d.in.force.Contract.ProofTTLSeconds, d.in.ahead.signed())
	var wanted *signing.Unsigned
	if errors.As(err, &wanted) {
		return &unsigned{wanted, ahead{id: d.row.Authorization.ID, at: d.now, session: d.in.facts.Session, heads: d.in.facts.Heads}}
	}
	if err != nil {
		return err
	}
	d.row.Proof, d.response.Proof, d.response.ProofID = p, &compact, &p.JTI
	return nil
}

func (s *Service) settings(ctx context.Context, q *pg.Q, d *decision) (models.Environment, error) {
	if d.in.env != nil {
		return *d.in.env, nil
	}
	return s.environment(ctx, q, d.scope())
}

// addChallenge opens the step-up and has its workflow started through the outbox.
func (s *Service) addChallenge(ctx context.Context, q *pg.Q, d *decision) error {
	a := &d.row.Authorization
	env, err := s.settings(ctx, q, d)
	if err != nil {
		return err
	}
	shown := Display{
		ActionKey: a.ActionKey, Action: d.in.force.Action.Name, Consequence: d.in.force.Action.Consequence, ResourceType: a.ResourceType,
		ResourceDigest: a.ResourceDigest, ContextDigest: a.ContextDigest, Audience: a.Audience, RequestingApplication: env.RPName,
	}
	if shown.Labels, err = d.in.force.Action.Texts(); err != nil {
		return err
	}
	c := models.Challenge{
		ID: ids.New(ids.Challenge), TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, AuthorizationID: a.ID, SubjectUID: a.SubjectUID,
		Status: models.ChallengeOpen, ActionHash: a.ActionHash, Random: make([]byte, 32), CreatedAt: d.now,
		ExpiresAt: d.now.Add(time.Duration(env.ChallengeTTLSeconds) * time.Second),
	}
	_, _ = rand.Read(c.Random) // never fails: it ends the process instead
	for _, m := range d.verdict.Methods {
		c.Methods = append(c.Methods, string(m))
	}
	if len(d.in.details) > 0 {
		if shown.DetailsDigest, err = display.Digest(d.in.details); err != nil {
			return err
		}
	}
	if c.Display, err = json.Marshal(shown); err != nil {
		return err
	}
	if c.DisplayDigest, err = canonical.Digest(shown); err != nil {
		return err
	}
	// The count includes this challenge, so that max_challenges bounds the whole chain of follow-up decisions.
	a.ChallengesUsed++
	d.row.Challenge = &c
	d.start(topicChallenge, c.ID)
	d.response.Challenge = &ChallengeDescriptor{ID: c.ID, Methods: d.verdict.Methods, ExpiresAt: apitime.Time(c.ExpiresAt)}
	return nil
}

// The outbox topics that start the workflows of challenges and holds (internal/platform/outbox).
const (
	topicChallenge = "challenge.start"
	topicHold      = "hold.start"
)

// start adds the outbox row that starts a workflow.
func (d *decision) start(topic, ref string) {
	d.row.Outbox = append(d.row.Outbox, models.Outbox{
		Topic: topic, EnvironmentID: d.in.base.EnvironmentID, Ref: ref, Payload: models.JSON("{}"), CreatedAt: d.now, AvailableAt: d.now,
	})
}

// addHold queues the decision for reviewers and has its workflow started through the outbox.
func (s *Service) addHold(ctx context.Context, q *pg.Q, d *decision) error {
	a := d.row.Authorization
	env, err := s.settings(ctx, q, d)
	if err != nil {
		return err
	}
	d.row.Hold = &models.Hold{
		AuthorizationID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, ActionID: a.ActionID, SubjectUID: a.SubjectUID,
		RiskClass: d.in.force.Action.RiskClass, Status: models.HoldPending, OpenedAt: d.now,
		ApprovalsRequired: d.requirements.Approvals(), SelfReviewBarred: d.requirements.BarsSelfReview() || env.BarSelfReview,
		RepeatApprovers: d.requirements.RepeatApprovers, WorkingHours: d.requirements.Hours == policy.HoursWorking,
	}
	if requester := d.response.people[people.Requester]; requester != "" {
		d.row.Hold.RequesterPerson = &requester
	}
	if glass := d.requirements.BreakGlass; glass != nil && d.in.opens == nil {
		d.row.Hold.GlassTeam, d.row.Hold.GlassApprovals, d.row.Hold.GlassSeconds = &glass.Group, glass.AfterReview.Approvals, glass.AfterReview.WithinSeconds
	}
	var calendar *localtime.Calendar
	if d.row.Hold.WorkingHours {
		calendar = tenancy.Calendar(env.Settings)
	}
	d.addSteps(time.Duration(env.HoldTTLSeconds)*time.Second, calendar)
	if err := hold.FixApprovers(ctx, q, *d.row.Hold, d.row.Teams, 0); err != nil {
		return err
	}
	d.start(topicHold, a.ID)
	d.response.Hold = &HoldDescriptor{StatusURL: s.status.Prefix(env, a.ID)}
	return nil
}

// eventRows returns the events of a decision in causal order, which is also the order of their ids: its cause, the decision,
// and what the decision opened.
func eventRows(d *decision) ([]models.Event, error) {
	in, row, a := &d.in, &d.row, &d.row.Authorization
	entry := events.Entry{
		Scope: d.scope(), At: d.now, SubjectUID: a.SubjectUID, Subject: d.profile.Subject,
		Action: a.ActionKey, AuthorizationID: a.ID, Decision: a.Decision, Actor: in.actor, RequestID: in.requestID, WorkflowID: in.workflowID,
	}
	reasons := nonNil(a.ReasonCodes)
	digest, err := pg.MadeDecision(*a, row.Proof)
	if err != nil {
		return nil, err
	}
	decided := events.AuthorizationDecidedData{
		Mode: string(a.Mode), PolicyVersion: a.PolicyVersion, ReasonCodes: reasons, Coverage: a.Coverage,
		InsufficientEvidence: &a.Insufficient, ActionHash: a.ActionHash, TraceID: a.TraceID, LatencyMS: &a.LatencyMS,
		RecordDigest: digest,
	}
	if a.ParentID != nil {
		decided.Parent = *a.ParentID
	}
	if row.Proof != nil {
		decided.ProofID = row.Proof.JTI
	}
	if row.Challenge != nil {
		decided.Challenge = row.Challenge.ID
	}
	entries := make([]events.Entry, 0, 3)
	if in.cause != nil {
		entries = append(entries, in.cause(*a))
	}
	entry.Data = decided
	entries = append(entries, entry)
	if data := standingData(d); data != nil {
		entry.Data = data
		entries = append(entries, entry)
	}
	if c := row.Challenge; c != nil {
		if digest, err = pg.RecordDigest(c); err != nil {
			return nil, err
		}
		entry.Data = events.ChallengeRequestedData{
			Challenge: c.ID, Methods: nonNil(c.Methods), ExpiresAt: apitime.Time(c.ExpiresAt), DisplayDigest: c.DisplayDigest, RecordDigest: digest,
		}
		entries = append(entries, entry)
	}
	if h := row.Hold; h != nil {
		if digest, err = pg.MadeHold(*h, row.Steps, row.Teams); err != nil {
			return nil, err
		}
		opened := events.HoldOpenedData{
			RiskClass: h.RiskClass, DueAt: apitime.Time(h.DueAt), ApprovalsRequired: &h.ApprovalsRequired, ReasonCodes: reasons, RecordDigest: digest,
		}
		if len(row.Steps) > 0 {
			opened.Step, opened.StepDueAt, opened.Approvers = row.Steps[0].Name, apitime.Time(*row.Steps[0].DueAt), models.FixedOf(row.Teams, 0)
		}
		entry.Data = opened
		entries = append(entries, entry)
	}
	rows := make([]models.Event, len(entries))
	for i, e := range entries {
		if rows[i], err = events.Row(e); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// nonNil returns a copy of the list that is never nil: events contain [], not null.
func nonNil(list []string) []string { return append([]string{}, list...) }
