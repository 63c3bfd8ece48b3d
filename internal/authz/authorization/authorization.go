// Package authorization decides authorization requests and stores the decisions. It gathers the facts, lets package policy
// decide, and writes the decision with its consequences (proof, challenge, hold, events, workflows to start) in one statement.
// It contains no rule of its own about who may do what. A decision is never changed once written: completing a challenge or
// approving a hold makes a follow-up decision.
package authorization

import (
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/authz/statuslink"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/cache"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// maxAge is how far requested_at may be from now, in either direction.
const maxAge = 300 * time.Second

// maxAttempts is how often a decision is retried because the subject changed while it was made.
const maxAttempts = 3

// Service decides, and reads and simulates decisions.
type Service struct {
	store    *pg.Store
	clock    clock.Clock
	actions  *action.Service
	assessor *assurance.Assessor
	proofs   *signing.Service
	vault    display.Vault
	kept     storedvalues.Vault
	digests  aggregate.Vault
	lists    lists.Vault
	standing standing.Vault
	envs     cache.Cache[models.Environment] // settings, which change rarely
	replays  *admission.Gate                 // limits concurrent simulations
	turns    turns                           // of decisions under one limit
	status   statuslink.Links
	keys     *keyring.Keyring
}

// New returns a Service.
func New(st *pg.Store, c clock.Clock, actions *action.Service, assessor *assurance.Assessor, proofs *signing.Service, keys *keyring.Keyring) *Service {
	return &Service{
		store: st, clock: c, actions: actions, assessor: assessor, proofs: proofs,
		vault: display.NewVault(keys), kept: storedvalues.NewVault(keys), digests: aggregate.NewVault(keys), lists: lists.NewVault(keys),
		standing: standing.NewVault(keys),
		keys:     keys,
		status:   statuslink.New(keys, proofs.BaseURL()),
		replays:  admission.New(simulationsAtOnce, simulationsEach, simulationsQueue),
	}
}

// Request is AuthorizeRequest.
type Request struct {
	// Subject is the relying party's id of the subject.
	Subject string `json:"subject"`
	// Action is the key of the action.
	Action   string   `json:"action"`
	Resource Resource `json:"resource"`
	// Audience is who will receive the proof; the contract of the action must allow it.
	Audience string `json:"audience"`
	// RequestedAt is when the relying party created the request, in Unix seconds; from 1e11 on it is read as milliseconds.
	// It must be within maxAge of now.
	RequestedAt int64 `json:"requested_at"`
	// Nonce is fresh for every request and becomes part of the proof.
	Nonce string `json:"nonce"`
	// IdempotencyKey identifies the request: a repetition with the same body returns the stored response.
	IdempotencyKey string `json:"idempotency_key"`
	// Actor is recorded beside the subject; nil for the subject itself.
	Actor *Actor `json:"actor"`
	// Context is a JSON object that must match the context_schema of the action. It is stored as a
	// digest, and of its values only what the schema says is shown or kept.
	Context json.RawMessage `json:"context"`
	// Session pins an observation session, also for follow-up decisions; nil uses the latest session of the subject.
	Session *string `json:"session"`

	values map[string]any // Context as it was decoded; nil if it was not
}

// Resource identifies the target of the action.
type Resource struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// Actor performs the action; the subject if it is omitted.
type Actor struct {
	ID string `json:"id"`
}

// Response is AuthorizeResponse.
type Response struct {
	ID string `json:"id"`
	// Decision is the effect of the policy. In shadow mode it has no consequences.
	Decision policy.Effect     `json:"decision"`
	Mode     models.ActionMode `json:"mode"`
	Action   string            `json:"action"`
	// ActionHash binds the decision to the action, contract, subject, resource, audience, context and nonce
	// (docs/proof.md).
	ActionHash    string `json:"action_hash"`
	Environment   string `json:"environment"`
	PolicyVersion int    `json:"policy_version"`
	// ReasonCodes are in order of precedence and never empty.
	ReasonCodes   []string             `json:"reason_codes"`
	HumanReadable policy.HumanReadable `json:"human_readable"`
	Assurance     assurance.Profile    `json:"assurance"`
	// TraceID is the trace of the request that made the decision, also on a replay.
	TraceID   string `json:"trace_id"`
	DecidedAt string `json:"decided_at"`
	// LatencyMS is the time from the arrival of the request to the decision, in milliseconds.
	LatencyMS int `json:"latency_ms"`
	// Challenge is nil unless the decision opened one.
	Challenge *ChallengeDescriptor `json:"challenge"`
	// Proof and ProofID are nil unless an action in mode enforce was allowed.
	Proof   *string `json:"proof"`
	ProofID *string `json:"proof_id"`
	// Hold is nil unless the decision waits for reviewers.
	Hold *HoldDescriptor `json:"hold,omitempty"`
	// StandingApproval is the one that allowed the request; nil if none did.
	StandingApproval *string `json:"standing_approval,omitempty"`

	people map[string]string // ids of the people whom the request names, by field; empty for one who is not known
}

// HoldDescriptor has what the relying party may show the person who waits.
type HoldDescriptor struct {
	// StatusURL opens the status page. It is stored without its token.
	StatusURL string `json:"status_url"`
}

// ChallengeDescriptor identifies the challenge that the decision opened.
type ChallengeDescriptor struct {
	ID string `json:"id"`
	// Methods are those that the policy permits and the subject can use now.
	Methods []policy.Method `json:"methods"`
	// ExpiresAt is in RFC 3339, to the millisecond.
	ExpiresAt string `json:"expires_at"`
}

// Display is the text that the subject confirms. Its digest is part of what a passkey signs, so its JSON form must not change.
type Display struct {
	ActionKey string `json:"action_key"`
	// Action and Consequence are the texts of the action at the time of the decision.
	Action       string `json:"action"`
	Consequence  string `json:"consequence"`
	ResourceType string `json:"resource_type"`
	// ResourceDigest and ContextDigest bind what is approved without showing it.
	ResourceDigest string `json:"resource_digest"`
	ContextDigest  string `json:"context_digest"`
	Audience       string `json:"audience"`
	// RequestingApplication is the relying party's name in the settings of the environment.
	RequestingApplication string `json:"requesting_application"`
	// DetailsDigest commits to the details that are shown, which are stored sealed and apart (internal/authz/display). It is left
	// out for an action that shows none.
	DetailsDigest string `json:"details_digest,omitempty"`
	// Labels are name and consequence of the action in other languages, by language tag. They are left out for an action that has none.
	Labels map[string]models.ActionText `json:"labels,omitempty"`
}
