package authorization

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Trace is AuthorizationTrace: a stored decision with its consequences. States are computed on read: a challenge, hold or proof
// that is due is expired, however late its timer.
type Trace struct {
	ID      string `json:"id"`
	Action  string `json:"action"`
	Subject string `json:"subject"`
	Actor   string `json:"actor"`
	// ActorType is always human: the contract knows no other actors.
	ActorType    string `json:"actor_type"`
	ResourceType string `json:"resource_type"`
	// ResourceDigest, ContextDigest and ActionHash are stored in place of the values themselves.
	ResourceDigest string            `json:"resource_digest"`
	ContextDigest  string            `json:"context_digest"`
	ActionHash     string            `json:"action_hash"`
	Audience       string            `json:"audience"`
	RequestedAt    string            `json:"requested_at"`
	DecidedAt      string            `json:"decided_at"`
	Mode           models.ActionMode `json:"mode"`
	// Decision is the effect of the policy at that time.
	Decision    policy.Effect `json:"decision"`
	ReasonCodes []string      `json:"reason_codes"`
	// Assurance is the profile exactly as it was recorded.
	Assurance json.RawMessage `json:"assurance"`
	LatencyMS int             `json:"latency_ms"`
	Challenge *ChallengeTrace `json:"challenge"`
	// Proof is nil unless the decision issued one, whatever its status now.
	Proof   *ProofTrace `json:"proof"`
	ProofID *string     `json:"proof_id"`
	// Parent is the decision that this follow-up decision follows; nil for a first decision.
	Parent *string `json:"parent"`
	// Child is the follow-up decision after a completed challenge or an approved hold.
	Child *string `json:"child_authorization"`
	// Outcome is the outcome that the relying party reported, or manually_rejected; nil until then.
	Outcome           *string `json:"outcome"`
	OutcomeReportedAt *string `json:"outcome_reported_at"`
	// ReviewAuthorizationID is the follow-up decision of an approved hold.
	ReviewAuthorizationID *string `json:"review_authorization_id"`
	// ReviewStatus is nil unless the decision was held.
	ReviewStatus *string `json:"review_status"`
	ReviewedAt   *string `json:"reviewed_at"`
	// ReviewedBy is the reviewer whose review resolved the hold.
	ReviewedBy    *string `json:"reviewed_by"`
	PolicyVersion int     `json:"policy_version"`
	// StandingApproval is the one that allowed the request; nil if none did.
	StandingApproval *string `json:"standing_approval,omitempty"`
	// Explanation lists the result of every requirement, in the order of checking.
	Explanation json.RawMessage `json:"explanation"`
	Display     *Shown          `json:"display"` // null for an action that shows no details, and once they are past their retention
	Altered     bool            `json:"-"`       // one of its records was changed outside of the service
}

// Shown are the details of the request that a person is shown.
type Shown struct {
	Details []display.Detail `json:"details"`
}

// ChallengeTrace is the challenge of a decision.
type ChallengeTrace struct {
	ID          string  `json:"id"`
	Status      string  `json:"status"`
	ExpiresAt   string  `json:"expires_at"`
	CompletedAt *string `json:"completed_at"`
	MethodUsed  *string `json:"method_used"`
	Strength    *string `json:"strength"`
}

// ProofTrace is the proof of a decision. Compact is nil unless the proof is active and GetFor returned it.
type ProofTrace struct {
	ID        string  `json:"id"`
	Status    string  `json:"status"`
	Compact   *string `json:"compact"`
	ExpiresAt *string `json:"expires_at"`
}

// GetFor is Get with the compact form of an active proof if the caller may receive it. A proof that a different credential
// requested is recorded.
func (s *Service) GetFor(ctx context.Context, p identity.Principal, id string) (Trace, error) {
	t, err := TraceDecision(ctx, s.store.Q, p.Store(), id)
	if errors.Is(err, pg.ErrNotFound) {
		return Trace{}, problem.NewNotFound()
	}
	if err != nil {
		return Trace{}, err
	}
	now := s.clock.Now()
	out, err := s.trace(t, now)
	a := t.Authorization
	if err != nil || out.Proof == nil || out.Proof.Status != string(models.ProofActive) || !p.MayReceiveProof(a.CredentialID) {
		return out, err
	}
	compact, err := s.proofs.Compact(*t.Proof)
	if errors.Is(err, keyring.ErrAuthentication) { // the row was altered, which the read recorded
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if out.Proof.Compact = &compact; p.CredentialID == a.CredentialID {
		return out, nil
	}
	return out, events.Append(ctx, s.store.Q, events.Entry{
		Scope: p.Store(), At: now, SubjectUID: a.SubjectUID, Subject: t.Subject, Action: a.ActionKey, AuthorizationID: a.ID,
		Actor: p.Actor(), RequestID: p.RequestID, Data: events.ProofReadData{ProofID: t.Proof.JTI},
	})
}

// Get returns one decision of the environment, without the compact form of its proof.
func (s *Service) Get(ctx context.Context, scope pg.Scope, id string) (Trace, error) {
	t, err := TraceDecision(ctx, s.store.Q, scope, id)
	if errors.Is(err, pg.ErrNotFound) {
		return Trace{}, problem.NewNotFound()
	}
	if err != nil {
		return Trace{}, err
	}
	return s.trace(t, s.clock.Now())
}

// List returns decisions as Get does, newest first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, scope pg.Scope, f TraceFilter, p pg.Page) ([]Trace, string, error) {
	f.Now = s.clock.Now()
	rows, next, err := ListTraces(ctx, s.store.Q, scope, f, p)
	if err != nil {
		return nil, "", err
	}
	out := make([]Trace, len(rows))
	for i, r := range rows {
		if out[i], err = s.trace(r, f.Now); err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}

// SearchLimit is the number of decisions that one page of a search reads. The details of a request are sealed and have no index: a search
// opens those of each decision that it reads.
const SearchLimit = 2000

// searchBatch is the number of decisions that a search reads at once.
const searchBatch = 250

// Search returns a page of the decisions of the filter that match, newest first, among the next SearchLimit. The cursor goes on behind the last
// one that was read: a page may be short, or empty, and have a cursor.
func (s *Service) Search(ctx context.Context, scope pg.Scope, f TraceFilter, matches func(Trace) bool, p pg.Page) (found []Trace, next string, err error) {
	f.Now = s.clock.Now()
	next = p.After
	for range SearchLimit / searchBatch {
		var rows []StoredTrace
		if rows, next, err = ListTraces(ctx, s.store.Q, scope, f, pg.Page{Limit: searchBatch, After: next}); err != nil {
			return nil, "", err
		}
		for i, r := range rows {
			t, err := s.trace(r, f.Now)
			if err != nil {
				return nil, "", err
			}
			if !matches(t) {
				continue
			}
			if found = append(found, t); len(found) == p.Limit && (next != "" || i+1 < len(rows)) {
				return found, pg.NextCursor(r.Authorization.DecidedAt, r.Authorization.ID), nil
			}
		}
		if next == "" {
			break
		}
	}
	return found, next, nil
}

// trace returns the contract's view of a stored decision at a time.
func (s *Service) trace(t StoredTrace, now time.Time) (Trace, error) {
	a := t.Authorization
	out := Trace{
		ID: a.ID, Action: a.ActionKey, Subject: t.Subject, Actor: a.Actor, ActorType: "human", ResourceType: a.ResourceType,
		ResourceDigest: a.ResourceDigest, ContextDigest: a.ContextDigest, ActionHash: a.ActionHash, Audience: a.Audience,
		RequestedAt: apitime.Time(a.RequestedAt), DecidedAt: apitime.Time(a.DecidedAt), Mode: a.Mode, Decision: policy.Effect(a.Decision),
		ReasonCodes: append([]string{}, a.ReasonCodes...), Assurance: json.RawMessage(a.Assurance), LatencyMS: a.LatencyMS,
		Parent: a.ParentID, Outcome: a.Outcome, OutcomeReportedAt: apitime.OptionalTime(a.OutcomeReportedAt),
		PolicyVersion: a.PolicyVersion, StandingApproval: a.StandingID, Altered: t.Altered,
	}
	details, totals, err := s.vault.OpenAll(a.ID, t.Details)
	if err != nil {
		return out, err
	}
	if len(details) > 0 {
		out.Display = &Shown{details}
	}
	if out.Explanation, err = withShown(a.Explanation, append(details, totals...)); err != nil {
		return out, err
	}
	if c := t.Challenge; c != nil {
		out.Challenge, out.Child = challengeTrace(*c, now), c.ChildAuthorizationID
	}
	if p := t.Proof; p != nil {
		out.Proof = &ProofTrace{ID: p.JTI, Status: string(signing.StatusOf(*p, now)), ExpiresAt: apitime.OptionalTime(&p.ExpiresAt)}
		out.ProofID = &p.JTI
	}
	if h := t.Hold; h != nil {
		status := string(hold.Effective(*h, now))
		out.ReviewStatus, out.ReviewedBy, out.ReviewAuthorizationID, out.Child = &status, h.ResolvedBy, h.ChildAuthorizationID, h.ChildAuthorizationID
		if h.ResolvedBy != nil {
			out.ReviewedAt = apitime.OptionalTime(h.ResolvedAt)
		}
	}
	return out, nil
}

func challengeTrace(c models.Challenge, now time.Time) *ChallengeTrace {
	out := &ChallengeTrace{
		ID: c.ID, Status: string(challenge.Effective(c, now)), ExpiresAt: apitime.Time(c.ExpiresAt), MethodUsed: c.MethodUsed, Strength: c.Strength,
	}
	if c.Status == models.ChallengeCompleted {
		out.CompletedAt = apitime.OptionalTime(c.SettledAt)
	}
	return out
}

// OutcomeReceipt is the contract's OutcomeReceipt.
type OutcomeReceipt struct {
	Authorization string `json:"authorization"`
	Outcome       string `json:"outcome"`
	ReportedAt    string `json:"reported_at"`
}

// Outcome records what the relying party did after the decision. Of the note it stores a digest only. Repeating the same outcome
// returns the first receipt. A different outcome is a conflict, unless the recorded one is unknown.
func (s *Service) Outcome(ctx context.Context, p identity.Principal, id, outcome string, note *string) (OutcomeReceipt, error) {
	digest, err := noteDigest(note)
	if err != nil {
		return OutcomeReceipt{}, err
	}
	now := s.clock.Now()
	var receipt OutcomeReceipt
	err = s.store.Write(ctx, func(q *pg.Q) error {
		moved, err := ReportOutcome(ctx, q, p.Store(), id, outcome, digest, now)
		if err != nil {
			return err
		}
		t, err := TraceDecision(ctx, q, p.Store(), id)
		if errors.Is(err, pg.ErrNotFound) {
			return problem.NewNotFound()
		}
		if err != nil {
			return err
		}
		a := t.Authorization
		if *a.Outcome != outcome {
			return problem.Newf(problem.OutcomeConflict, "The outcome %s is recorded already.", *a.Outcome)
		}
		receipt = OutcomeReceipt{Authorization: id, Outcome: *a.Outcome, ReportedAt: apitime.Time(*a.OutcomeReportedAt)}
		if !moved {
			return nil
		}
		e := events.Entry{
			Scope: p.Store(), At: now, SubjectUID: a.SubjectUID, Subject: t.Subject, Action: a.ActionKey,
			AuthorizationID: a.ID, Decision: a.Decision, Actor: p.Actor(), RequestID: p.RequestID,
			Data: events.OutcomeReportedData{Outcome: outcome, NoteDigest: digest},
		}
		if err := events.Append(ctx, q, e); err != nil {
			return err
		}
		givenBack, err := aggregate.Report(ctx, q, a.EnvironmentID, a.ID, outcome, now)
		if err != nil {
			return err
		}
		returned, err := returnUse(ctx, q, a, outcome, e)
		if err != nil || !givenBack && !returned {
			return err
		}
		return revokeProofs(ctx, q, e)
	})
	return receipt, err
}

// notExecuted is the reason in the event of a proof of what was given back to a cap.
const notExecuted = "not_executed"

// revokeProofs revokes the proof of a request that was reported, by an entry, as one that was not executed.
func revokeProofs(ctx context.Context, q *pg.Q, e events.Entry) error {
	revoked, err := proof.RevokeProofsOfRequest(ctx, q, e.Scope, e.AuthorizationID, proof.Revocation{Reason: notExecuted, At: e.At})
	if err != nil {
		return err
	}
	for _, p := range revoked {
		e.AuthorizationID, e.Decision, e.Data = p.AuthorizationID, string(policy.Allow), events.ProofRevokedData{ProofID: p.JTI, Reason: notExecuted}
		if err := events.Append(ctx, q, e); err != nil {
			return err
		}
	}
	return nil
}

// noteDigest returns the digest of a note; nil for none.
func noteDigest(note *string) (*string, error) {
	if note == nil {
		return nil, nil
	}
	d, err := canonical.Digest(*note)
	return &d, err
}
