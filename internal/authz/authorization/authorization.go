// Package authorization makes and keeps decisions: it gathers the facts, lets internal/authz/policy decide, and writes the
// decision with everything that follows from it (proof, challenge, hold, events, runs to start) in one statement. It
// holds no rule of its own about who may do what, and a decision once written is never changed: completing a challenge
// or approving a hold makes a new one (Again).
package authorization

import (
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/signing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// maxAge is how far requested_at may be from now, either way.
const maxAge = 300 * time.Second

// maxAttempts bounds how often a decision is made again because the subject changed under it.
const maxAttempts = 3

// Service makes decisions.
type Service struct {
	store    *store.Store
	clock    clock.Clock
	actions  *action.Service
	assessor *assurance.Assessor
	proofs   *signing.Service
	vault    display.Vault
	envs     environments
}

// New makes the service.
func New(st *store.Store, c clock.Clock, actions *action.Service, assessor *assurance.Assessor, proofs *signing.Service, vault display.Vault) *Service {
	return &Service{store: st, clock: c, actions: actions, assessor: assessor, proofs: proofs, vault: vault, envs: newEnvironments()}
}

// Request is AuthorizeRequest.
type Request struct {
	Subject        string          `json:"subject"`
	Action         string          `json:"action"`
	Resource       Resource        `json:"resource"`
	Audience       string          `json:"audience"`
	RequestedAt    int64           `json:"requested_at"` // Unix seconds (milliseconds from 1e11 on)
	Nonce          string          `json:"nonce"`
	IdempotencyKey string          `json:"idempotency_key"`
	Actor          *Actor          `json:"actor"`
	Context        json.RawMessage `json:"context"`
	Session        *string         `json:"session"`
}

// Resource is what the action is performed on.
type Resource struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// Actor is who performs the action; the subject where it is left out.
type Actor struct {
	ID string `json:"id"`
}

// Response is AuthorizeResponse.
type Response struct {
	ID            string               `json:"id"`
	Decision      policy.Effect        `json:"decision"`
	Mode          models.ActionMode    `json:"mode"`
	Action        string               `json:"action"`
	ActionHash    string               `json:"action_hash"`
	Environment   string               `json:"environment"`
	PolicyVersion int                  `json:"policy_version"`
	ReasonCodes   []string             `json:"reason_codes"`
	HumanReadable policy.HumanReadable `json:"human_readable"`
	Assurance     assurance.Profile    `json:"assurance"`
	TraceID       string               `json:"trace_id"`
	DecidedAt     string               `json:"decided_at"`
	LatencyMS     int                  `json:"latency_ms"`
	Challenge     *ChallengeDescriptor `json:"challenge"`
	Proof         *string              `json:"proof"`
	ProofID       *string              `json:"proof_id"`
}

// ChallengeDescriptor tells the relying party which step-up was opened.
type ChallengeDescriptor struct {
	ID        string          `json:"id"`
	Methods   []policy.Method `json:"methods"`
	ExpiresAt string          `json:"expires_at"`
}

// Display is what the subject is shown before confirming; its digest is part of what a passkey signs.
type Display struct {
	ActionKey             string `json:"action_key"`
	Action                string `json:"action"`
	Consequence           string `json:"consequence"`
	ResourceType          string `json:"resource_type"`
	ResourceDigest        string `json:"resource_digest"`
	ContextDigest         string `json:"context_digest"`
	Audience              string `json:"audience"`
	RequestingApplication string `json:"requesting_application"`
	// DetailsDigest commits to the details that are shown, which are stored sealed and apart (internal/authz/display). It is left
	// out for an action that shows none.
	DetailsDigest string `json:"details_digest,omitempty"`
}
