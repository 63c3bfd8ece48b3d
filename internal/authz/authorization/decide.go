package authorization

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// decisionInput is everything a decision is made from but the time.
type decisionInput struct {
	base       models.Authorization // what is known of the row before deciding
	force      *action.InForce
	details    []display.Detail // of the request; nil for an action that shows none
	facts      store.Facts
	kind       policy.EnvironmentKind
	env        *models.Environment // its settings; nil for those that are cached
	archived   bool
	start      time.Time
	actor      string // for the events
	requestID  string
	workflowID string
	cause      func(followUp models.Authorization) events.Entry // of a follow-up decision; nil for none
}

// decide assesses the subject, decides, and builds all that is to be written, with the answer's bytes. What it has to read
// it reads through q: a transaction that waited for a second connection could wait for itself.
func (s *Service) decide(ctx context.Context, q *store.Q, in decisionInput, now time.Time) (store.Decision, []byte, error) {
	profile, err := s.assessor.Assess(in.facts.Subject, in.facts.Session, in.facts.Heads, now)
	if err != nil {
		return store.Decision{}, nil, err
	}
	verdict := policy.Decide(s.question(in, profile))
	a, err := record(in, profile, verdict, now)
	if err != nil {
		return store.Decision{}, nil, err
	}
	d := store.Decision{Authorization: a, SubjectAsOf: in.facts.Subject.UpdatedAt}
	if d.Details, err = s.shown(a, in.details); err != nil {
		return d, nil, err
	}
	answer := Response{
		ID: a.ID, Decision: verdict.Effect, Mode: a.Mode, Action: a.ActionKey, ActionHash: a.ActionHash, Environment: a.EnvironmentID,
		PolicyVersion: a.PolicyVersion, ReasonCodes: verdict.ReasonCodes, HumanReadable: verdict.HumanReadable, Assurance: profile,
		TraceID: a.TraceID, DecidedAt: apitime.Time(now), LatencyMS: a.LatencyMS,
	}
	if err := s.follow(ctx, q, in, profile, verdict, &d, &answer, now); err != nil {
		return d, nil, err
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return d, nil, err
	}
	d.Authorization.Response = body
	if d.Proof != nil {
		d.Authorization.Response = proof.Remove(body)
	}
	d.Events, err = eventRows(in, d, profile, verdict, now)
	return d, body, err
}

// shown is the row with the sealed details of a decision; nil if it shows none.
func (s *Service) shown(a models.Authorization, details []display.Detail) (*models.ShownDetails, error) {
	if len(details) == 0 {
		return nil, nil
	}
	sealed, err := s.vault.Seal(a.ID, details)
	return &models.ShownDetails{
		AuthorizationID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, SubjectUID: a.SubjectUID, Details: sealed, DecidedAt: a.DecidedAt,
	}, err
}

func (s *Service) question(in decisionInput, profile assurance.Profile) policy.Input {
	q := policy.Input{
		Requirements: in.force.Contract.Requirements, Environment: in.kind, Mode: policy.Mode(in.base.Mode), Assurance: profile.Facts(),
		SubjectRevoked: in.facts.Subject.Status != models.SubjectActive, ActionArchived: in.archived,
		ChallengesUsed: in.base.ChallengesUsed, HoldApproved: in.base.HoldApproved,
	}
	if in.base.ChallengeCompleted != nil {
		q.ChallengeCompleted = policy.Method(*in.base.ChallengeCompleted)
	}
	q.UsableMethods = usable(in.facts.Passkeys, in.kind)
	return q
}

// usable are the methods that a subject with so many passkeys could complete a challenge with.
func usable(passkeys int, kind policy.EnvironmentKind) []policy.Method {
	var out []policy.Method
	if passkeys > 0 {
		out = append(out, policy.Passkey)
	}
	if kind == policy.Sandbox {
		out = append(out, policy.SandboxConfirm)
	}
	return out
}

// record completes the row of the authorization.
func record(in decisionInput, profile assurance.Profile, verdict policy.Decision, now time.Time) (models.Authorization, error) {
	a := in.base
	a.ID, a.DecidedAt = ids.New(ids.Authorization), now
	a.Decision, a.ReasonCodes = string(verdict.Effect), verdict.ReasonCodes
	a.Coverage, a.Insufficient = string(profile.Coverage), profile.InsufficientEvidence
	a.OperatorChanged = profile.Claim(scoring.ClaimChange).Status == scoring.Detected
	if !a.SessionPinned { // a pin stays, even once its session is gone
		a.SessionID = profile.Session
	}
	a.LatencyMS = int(max(now.Sub(in.start), 0).Milliseconds())
	var err error
	if a.Assurance, err = json.Marshal(profile); err != nil {
		return a, err
	}
	a.Explanation, err = json.Marshal(verdict.Explanation)
	return a, err
}

// follow adds what the decision leads to: in shadow mode nothing, in test mode challenges and holds, in enforce mode
// proofs as well.
func (s *Service) follow(ctx context.Context, q *store.Q, in decisionInput, profile assurance.Profile, verdict policy.Decision, d *store.Decision, answer *Response, now time.Time) error {
	if d.Authorization.Mode == models.ModeShadow {
		return nil
	}
	switch verdict.Effect {
	case policy.Allow:
		if d.Authorization.Mode != models.ModeEnforce {
			return nil
		}
		return s.prove(ctx, q, in, profile, verdict, d, answer, now)
	case policy.Challenge:
		return s.challenge(ctx, q, in, verdict, d, answer, now)
	case policy.Hold:
		return s.hold(ctx, q, in, d, now)
	default:
		return nil
	}
}

// prove signs the proof of an allowed action.
func (s *Service) prove(ctx context.Context, q *store.Q, in decisionInput, profile assurance.Profile, verdict policy.Decision, d *store.Decision, answer *Response, now time.Time) error {
	a := d.Authorization
	issued := now.Unix()
	ttl := int64(in.force.Contract.ProofTTLSeconds)
	claims := proof.Claims{
		Issuer: s.proofs.Issuer(a.EnvironmentID), Subject: in.facts.Subject.ExternalID, Audience: a.Audience,
		IssuedAt: issued, NotBefore: issued, Expires: issued + ttl, ID: ids.New(ids.Proof), Nonce: a.Nonce,
		Environment: a.EnvironmentID, EnvironmentKind: string(in.kind), Mode: string(a.Mode), Authorization: a.ID,
		Action:   proof.Action{Key: a.ActionKey, Hash: a.ActionHash, PolicyVersion: a.PolicyVersion, ContentHash: a.PolicyHash},
		Resource: proof.Resource{Type: a.ResourceType, Digest: a.ResourceDigest}, Context: a.ContextDigest,
		Assurance: proof.Assurance{Coverage: a.Coverage, FreshnessMS: profile.FreshnessMS, Claims: map[string]string{}},
		Methods:   methods(a, verdict),
	}
	for _, c := range profile.Claims {
		claims.Assurance.Claims[c.Claim] = string(c.Status)
	}
	scope := store.Scope{Tenant: a.TenantID, Environment: a.EnvironmentID}
	compact, kid, err := s.proofs.Sign(ctx, q, scope, claims)
	if err != nil {
		return err
	}
	sealed, err := s.proofs.SealProof(a.ID, compact)
	if err != nil {
		return err
	}
	d.Proof = &models.Proof{
		JTI: claims.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, AuthorizationID: a.ID, SubjectUID: a.SubjectUID,
		KID: kid, Audience: a.Audience, Status: models.ProofActive, Sealed: sealed, IssuedAt: now,
		ExpiresAt: time.Unix(claims.Expires, 0).UTC(),
	}
	answer.Proof, answer.ProofID = &compact, &claims.ID
	return nil
}

// methods is the proof's amr: what the decision rests on. It is empty where the policy asked for nothing that is a method,
// such as coverage alone.
func methods(a models.Authorization, verdict policy.Decision) []string {
	out := []string{}
	if verdict.ByEvidence {
		out = append(out, proof.MethodBehaviour)
	}
	if a.ChallengeCompleted != nil {
		out = append(out, *a.ChallengeCompleted)
	}
	if a.HoldApproved {
		out = append(out, proof.MethodReview)
	}
	return out
}

// settings are those of the decision's environment.
func (s *Service) settings(ctx context.Context, q *store.Q, in decisionInput) (models.Environment, error) {
	if in.env != nil {
		return *in.env, nil
	}
	return s.environment(ctx, q, store.Scope{Tenant: in.base.TenantID, Environment: in.base.EnvironmentID})
}

// challenge opens the step-up.
func (s *Service) challenge(ctx context.Context, q *store.Q, in decisionInput, verdict policy.Decision, d *store.Decision, answer *Response, now time.Time) error {
	a := &d.Authorization
	env, err := s.settings(ctx, q, in)
	if err != nil {
		return err
	}
	shown := Display{
		ActionKey: a.ActionKey, Action: in.force.Action.Name, Consequence: in.force.Action.Consequence, ResourceType: a.ResourceType,
		ResourceDigest: a.ResourceDigest, ContextDigest: a.ContextDigest, Audience: a.Audience, RequestingApplication: env.RPName,
	}
	c := models.Challenge{
		ID: ids.New(ids.Challenge), TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, AuthorizationID: a.ID, SubjectUID: a.SubjectUID,
		Status: models.ChallengeOpen, ActionHash: a.ActionHash, Random: make([]byte, 32), CreatedAt: now,
		ExpiresAt: now.Add(time.Duration(env.ChallengeTTLSeconds) * time.Second),
	}
	_, _ = rand.Read(c.Random) // never fails: it ends the process instead
	for _, m := range verdict.Methods {
		c.Methods = append(c.Methods, string(m))
	}
	if len(in.details) > 0 {
		if shown.DetailsDigest, err = display.Digest(in.details); err != nil {
			return err
		}
	}
	if c.Display, err = json.Marshal(shown); err != nil {
		return err
	}
	if c.DisplayDigest, err = canonical.Digest(shown); err != nil {
		return err
	}
	a.ChallengesUsed++
	d.Challenge = &c
	d.Outbox = append(d.Outbox, models.Outbox{
		Topic: topicChallenge, EnvironmentID: a.EnvironmentID, Ref: c.ID, Payload: models.JSON("{}"), CreatedAt: now, AvailableAt: now,
	})
	answer.Challenge = &ChallengeDescriptor{ID: c.ID, Methods: verdict.Methods, ExpiresAt: apitime.Time(c.ExpiresAt)}
	return nil
}

// The outbox topics by which the runs of challenges and holds are started (internal/platform/outbox).
const (
	topicChallenge = "challenge.start"
	topicHold      = "hold.start"
)

// hold puts the decision into the reviewers' queue.
func (s *Service) hold(ctx context.Context, q *store.Q, in decisionInput, d *store.Decision, now time.Time) error {
	a := d.Authorization
	env, err := s.settings(ctx, q, in)
	if err != nil {
		return err
	}
	life := time.Duration(env.HoldTTLSeconds) * time.Second
	wanted := in.force.Contract.Requirements
	d.Hold = &models.Hold{
		AuthorizationID: a.ID, TenantID: a.TenantID, EnvironmentID: a.EnvironmentID, ActionID: a.ActionID, SubjectUID: a.SubjectUID,
		RiskClass: in.force.Action.RiskClass, Status: models.HoldPending, OpenedAt: now,
		ApprovalsRequired: wanted.Approvals(), SelfReviewBarred: wanted.BarsSelfReview() || env.BarSelfReview,
		RemindAt: now.Add(life / 2), DueAt: now.Add(life),
	}
	d.Outbox = append(d.Outbox, models.Outbox{
		Topic: topicHold, EnvironmentID: a.EnvironmentID, Ref: a.ID, Payload: models.JSON("{}"), CreatedAt: now, AvailableAt: now,
	})
	return nil
}

// eventRows are the entries of a decision in the order of cause and consequence: what led to it, the decision, what it opened.
// Their ids rise in that order too.
func eventRows(in decisionInput, d store.Decision, profile assurance.Profile, verdict policy.Decision, now time.Time) ([]models.Event, error) {
	a := d.Authorization
	entry := events.Entry{
		Scope: store.Scope{Tenant: a.TenantID, Environment: a.EnvironmentID}, At: now, SubjectUID: a.SubjectUID, Subject: profile.Subject,
		Action: a.ActionKey, AuthorizationID: a.ID, Decision: a.Decision, Actor: in.actor, RequestID: in.requestID, WorkflowID: in.workflowID,
	}
	reasons := words(a.ReasonCodes)
	decided := events.AuthorizationDecidedData{
		Mode: string(a.Mode), PolicyVersion: a.PolicyVersion, ReasonCodes: reasons, Coverage: a.Coverage,
		InsufficientEvidence: &a.Insufficient, ActionHash: a.ActionHash, TraceID: a.TraceID, LatencyMS: &a.LatencyMS,
		RecordDigest: events.Record{Authorization: a, Proof: d.Proof, Findings: findings(profile, verdict)}.Digest(),
	}
	if a.ParentID != nil {
		decided.Parent = *a.ParentID
	}
	if d.Proof != nil {
		decided.ProofID = d.Proof.JTI
	}
	if d.Challenge != nil {
		decided.Challenge = d.Challenge.ID
	}
	entries := make([]events.Entry, 0, 3)
	if in.cause != nil {
		entries = append(entries, in.cause(a))
	}
	entry.Data = decided
	entries = append(entries, entry)
	if c := d.Challenge; c != nil {
		entry.Data = events.ChallengeRequestedData{
			Challenge: c.ID, Methods: words(c.Methods), ExpiresAt: apitime.Time(c.ExpiresAt), DisplayDigest: c.DisplayDigest,
		}
		entries = append(entries, entry)
	}
	if h := d.Hold; h != nil {
		entry.Data = events.HoldOpenedData{
			RiskClass: h.RiskClass, DueAt: apitime.Time(h.DueAt), ApprovalsRequired: &h.ApprovalsRequired, ReasonCodes: reasons,
		}
		entries = append(entries, entry)
	}
	rows := make([]models.Event, len(entries))
	for i, e := range entries {
		var err error
		if rows[i], err = events.Row(e); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// findings are what the record's digest covers of the profile and the explanation (internal/platform/audit reads them back).
func findings(profile assurance.Profile, verdict policy.Decision) []string {
	out := make([]string, 0, 2*len(profile.Claims)+4*len(verdict.Explanation))
	for _, c := range profile.Claims {
		out = append(out, c.Claim, string(c.Status))
	}
	for _, r := range verdict.Explanation {
		out = append(out, r.Requirement, r.Wanted, r.Found, string(r.Effect))
	}
	return out
}

// words is a list as it is written into an event: never null.
func words(list []string) []string { return append([]string{}, list...) }
