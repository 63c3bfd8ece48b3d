package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Trail is the record of one authorization: the decisions, their evidence and policy texts, who resolved them and when, and
// the fate of the proof.
type Trail struct {
	Environment   string `json:"environment"`
	Authorization string `json:"authorization"` // the requested one
	Subject       string `json:"subject"`       // empty if it was erased
	Action        string `json:"action"`
	// The chain of follow-up decisions that it belongs to, oldest first.
	Decisions []Decision        `json:"decisions"`
	Log       []LogLine         `json:"log"`
	Workflows []WorkflowHistory `json:"workflows"`
}

// Decision is one decision of the chain with the rows that belong to it.
type Decision struct {
	ID             string          `json:"id"`
	Parent         *string         `json:"parent"`
	At             string          `json:"at"`
	Decision       string          `json:"decision"`
	Mode           string          `json:"mode"`
	ReasonCodes    []string        `json:"reason_codes"`
	Credential     string          `json:"credential"`
	Audience       string          `json:"audience"`
	ResourceType   string          `json:"resource_type"`
	ResourceDigest string          `json:"resource_digest"`
	ContextDigest  string          `json:"context_digest"`
	ActionHash     string          `json:"action_hash"`
	Evidence       Evidence        `json:"evidence"`
	Explanation    json.RawMessage `json:"explanation"`
	Policy         Policy          `json:"policy"`
	Challenge      *Challenge      `json:"challenge"`
	Hold           *Hold           `json:"hold"`
	Proof          *Proof          `json:"proof"`
	Outcome        *string         `json:"outcome"`
	OutcomeAt      *string         `json:"outcome_reported_at"`
	// Details that a person was shown of the request. They are stored sealed, so the caller adds them.
	Details []ShownDetail `json:"details,omitempty"`
	// Differences between stored data and the log.
	Contradictions []Finding `json:"contradictions"`
}

// ShownDetail is one value of the request as a person was shown it.
type ShownDetail struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// Evidence summarizes the assurance profile of a decision.
type Evidence struct {
	Session      *string  `json:"session"`
	Coverage     string   `json:"coverage"`
	Insufficient bool     `json:"insufficient_evidence"`
	Windows      int      `json:"evidence_windows"`
	Active       float64  `json:"active_seconds"`
	FreshnessMS  *int64   `json:"freshness_ms"`
	Modalities   []string `json:"modalities_present"`
	Model        string   `json:"model_version"`
	Claims       []Claim  `json:"claims"`
}

// Claim is one claim of the profile.
type Claim struct {
	Name        string   `json:"claim"`
	Status      string   `json:"status"`
	Coverage    string   `json:"coverage"`
	ReasonCodes []string `json:"reason_codes"`
}

// Policy is the policy version that the decision was made under.
type Policy struct {
	Version      int             `json:"version"`
	ContentHash  string          `json:"content_hash"`
	Requirements json.RawMessage `json:"requirements"`
	ActivatedAt  *string         `json:"activated_at"`
	ActivatedBy  *string         `json:"activated_by"`
}

// Challenge is the step-up that the decision required.
type Challenge struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	// The text that the person was shown.
	Display   json.RawMessage `json:"display"`
	ExpiresAt string          `json:"expires_at"`
	SettledAt *string         `json:"settled_at"`
	Method    *string         `json:"method"`
	Strength  *string         `json:"strength"`
	Failures  int             `json:"failures"`
	Child     *string         `json:"child_authorization"`
}

// Hold is the review that the decision required.
type Hold struct {
	Status     string   `json:"status"`
	OpenedAt   string   `json:"opened_at"`
	DueAt      string   `json:"due_at"`
	Required   int      `json:"approvals_required"`
	ResolvedAt *string  `json:"resolved_at"`
	ResolvedBy *string  `json:"resolved_by"`
	Child      *string  `json:"child_authorization"`
	Reviews    []Review `json:"reviews"`
}

// Review is one reviewer's resolution.
type Review struct {
	Reviewer   string  `json:"reviewer"`
	Resolution string  `json:"resolution"`
	At         string  `json:"at"`
	NoteDigest *string `json:"note_digest"`
}

// Proof is the state of a proof; its compact form is never shown.
type Proof struct {
	ID            string  `json:"id"`
	Status        string  `json:"status"`
	Key           string  `json:"kid"`
	IssuedAt      string  `json:"issued_at"`
	ExpiresAt     string  `json:"expires_at"`
	ConsumedAt    *string `json:"consumed_at"`
	ConsumedBy    *string `json:"consumed_by"`
	RevokedAt     *string `json:"revoked_at"`
	RevokedReason *string `json:"revoked_reason"`
}

// LogLine is one entry of the event log about the chain.
type LogLine struct {
	Event     string  `json:"event"`
	At        string  `json:"at"`
	Type      string  `json:"type"`
	Actor     string  `json:"actor"`
	RequestID *string `json:"request_id"`
	Workflow  *string `json:"workflow_id"`
	// Of its link in the chain; 0 if it is not sealed yet.
	Sequence int64 `json:"sequence"`
}

// WorkflowHistory is the Temporal history of a workflow run that belongs to the chain.
type WorkflowHistory struct {
	ID  string `json:"id"`
	Run string `json:"run"`
	// "unknown" if the history is past its retention.
	Status string         `json:"status"`
	Lines  []HistoryEvent `json:"events"`
}

// HistoryEvent is one event of a workflow run.
type HistoryEvent struct {
	At     string `json:"at"`
	Type   string `json:"type"`
	Detail string `json:"detail,omitempty"`
}

// Histories reads workflow histories. A run that is unknown to Temporal is returned with the status "unknown".
type Histories interface {
	Histories(ctx context.Context, challenges, holds []string) ([]WorkflowHistory, error)
}

// TrailOf assembles the trail of an authorization as of now and compares it with the log. Histories may be nil: the trail then
// has no workflow histories. It returns pg.ErrNotFound for an authorization outside the scope.
func TrailOf(ctx context.Context, st *pg.Store, s pg.Scope, id string, h Histories) (Trail, error) {
	t := Trail{Environment: s.Environment, Authorization: id, Workflows: []WorkflowHistory{}}
	now, err := st.Time(ctx)
	if err != nil {
		return t, err
	}
	err = st.Read(ctx, func(q *pg.Q) error {
		rows, err := trailOf(ctx, q, s, id)
		if err != nil {
			return err
		}
		t.Subject, t.Action = rows.Subject, rows.Authorizations[0].ActionKey
		sealed, err := checkLog(ctx, q, s, rows.Events)
		if err != nil {
			return err
		}
		for _, a := range rows.Authorizations {
			d := decisionOf(a, rows, now)
			if d.Contradictions, err = contradictions(ctx, q, s, a.ID); err != nil {
				return err
			}
			t.Decisions = append(t.Decisions, d)
		}
		t.Decisions[0].Contradictions = append(t.Decisions[0].Contradictions, sealed.findings...)
		for _, e := range rows.Events {
			t.Log = append(t.Log, LogLine{e.ID, apitime.Time(e.At), e.Type, e.Actor, e.RequestID, e.WorkflowID, sealed.sequence[e.ID]})
		}
		return nil
	})
	if err != nil || h == nil {
		return t, err
	}
	t.Workflows, err = histories(ctx, h, t.Decisions)
	return t, err
}

// histories reads the workflow runs of the chain's challenges and holds.
func histories(ctx context.Context, h Histories, decisions []Decision) ([]WorkflowHistory, error) {
	var challenges, holds []string
	for _, d := range decisions {
		if d.Challenge != nil {
			challenges = append(challenges, d.Challenge.ID)
		}
		if d.Hold != nil {
			holds = append(holds, d.ID)
		}
	}
	if len(challenges)+len(holds) == 0 {
		return []WorkflowHistory{}, nil
	}
	return h.Histories(ctx, challenges, holds)
}

// contradictions compares one stored decision with the log.
func contradictions(ctx context.Context, q *pg.Q, s pg.Scope, id string) ([]Finding, error) {
	d, err := recordOfDecision(ctx, q, s, id)
	if errors.Is(err, pg.ErrNotFound) {
		return []Finding{{Kind: Unsupported, Target: id, Detail: "the decision is stored without an entry in the log"}}, nil
	}
	return append([]Finding{}, Contradictions(d)...), err
}

// sealedLog holds the chain's record of some entries.
type sealedLog struct {
	// By event id; absent for entries not sealed yet.
	sequence map[string]int64
	findings []Finding
}

// checkLog compares entries with their links. An altered entry is reported and proves nothing.
func checkLog(ctx context.Context, q *pg.Q, s pg.Scope, rows []models.Event) (sealedLog, error) {
	out := sealedLog{sequence: map[string]int64{}}
	links, err := linksOf(ctx, q, s, rows)
	for _, l := range links {
		out.sequence[l.Event.ID] = l.Seq
		digest, err := events.Digest(*l.Event)
		altered := !bytes.Equal(Hash(l.Previous, l.Seq, *l.Event), l.Hash) || err == nil && !bytes.Equal(digest, l.Event.Digest) ||
			err != nil && !errors.Is(err, events.ErrErased)
		if altered {
			out.findings = append(out.findings, Finding{Kind: Altered, Sequence: l.Seq, Event: l.Event.ID, Detail: "the entry is not what was sealed"})
		}
	}
	return out, err
}

// decisionOf assembles one decision of the chain from its rows.
func decisionOf(a models.Authorization, rows trailRows, now time.Time) Decision {
	d := Decision{
		ID: a.ID, Parent: a.ParentID, At: apitime.Time(a.DecidedAt), Decision: a.Decision, Mode: string(a.Mode), ReasonCodes: a.ReasonCodes,
		Credential: a.CredentialID, Audience: a.Audience, ResourceType: a.ResourceType, ResourceDigest: a.ResourceDigest,
		ContextDigest: a.ContextDigest, ActionHash: a.ActionHash, Evidence: evidenceOf(a), Explanation: document(a.Explanation),
		Policy: policyOf(a, rows.Policies), Outcome: a.Outcome, OutcomeAt: apitime.OptionalTime(a.OutcomeReportedAt),
	}
	for _, c := range rows.Challenges {
		if c.AuthorizationID == a.ID {
			d.Challenge = &Challenge{c.ID, asOf(string(c.Status), string(models.ChallengeOpen), c.ExpiresAt, now), document(c.Display), apitime.Time(c.ExpiresAt), apitime.OptionalTime(c.SettledAt),
				c.MethodUsed, c.Strength, c.Failures, c.ChildAuthorizationID}
		}
	}
	for _, h := range rows.Holds {
		if h.AuthorizationID == a.ID {
			d.Hold = holdOf(h, rows.Reviews, now)
		}
	}
	for _, p := range rows.Proofs {
		if p.AuthorizationID == a.ID {
			d.Proof = &Proof{p.JTI, asOf(string(p.Status), string(models.ProofActive), p.ExpiresAt, now), p.KID, apitime.Time(p.IssuedAt), apitime.Time(p.ExpiresAt), apitime.OptionalTime(p.ConsumedAt),
				p.ConsumedBy, apitime.OptionalTime(p.RevokedAt), p.RevokedReason}
		}
	}
	return d
}

func evidenceOf(a models.Authorization) Evidence {
	e := Evidence{Coverage: a.Coverage, Insufficient: a.Insufficient}
	// A profile written by another version is shown as far as it can be decoded.
	_ = json.Unmarshal(a.Assurance, &e)
	e.Session = a.SessionID
	return e
}

// policyOf returns the policy version of a decision; its text is null if the version is not stored.
func policyOf(a models.Authorization, versions []models.PolicyVersion) Policy {
	p := Policy{Version: a.PolicyVersion, ContentHash: a.PolicyHash, Requirements: document(nil)}
	for _, v := range versions {
		if v.Version == a.PolicyVersion {
			p.Requirements, p.ActivatedAt, p.ActivatedBy = document(v.Requirements), apitime.OptionalTime(v.ActivatedAt), v.ActivatedBy
		}
	}
	return p
}

// asOf returns a state as of now: one that still waits is expired once its time is over, even if its timer has not fired.
func asOf(status, waiting string, until, now time.Time) string {
	if status == waiting && !now.Before(until) {
		return "expired"
	}
	return status
}

// holdOf returns a hold with its reviews, and its status as of now.
func holdOf(h models.Hold, reviews []models.Review, now time.Time) *Hold {
	out := &Hold{Status: asOf(string(h.Status), string(models.HoldPending), h.DueAt, now), OpenedAt: apitime.Time(h.OpenedAt), DueAt: apitime.Time(h.DueAt), Required: h.ApprovalsRequired,
		ResolvedAt: apitime.OptionalTime(h.ResolvedAt), ResolvedBy: h.ResolvedBy, Child: h.ChildAuthorizationID, Reviews: []Review{}}
	for _, r := range reviews {
		if r.AuthorizationID == h.AuthorizationID {
			out.Reviews = append(out.Reviews, Review{r.Reviewer, r.Resolution, apitime.Time(r.At), r.NoteDigest})
		}
	}
	return out
}

// document returns a stored document as it is; null if there is none.
func document(raw models.JSON) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(raw)
}

// describe returns the catalogue's description of a type.
func describe(t string) string {
	d, _ := events.Lookup(events.Type(t))
	return d.Description
}
