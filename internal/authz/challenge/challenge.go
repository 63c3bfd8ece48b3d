// Package challenge implements step-up challenges: what the user is shown, the verification of their response, the use cases
// of completing and cancelling (Resolver), and the moves of the state machine, each one conditional UPDATE that names the state
// it expects. The workflow that serialises the moves is in package workflows.
//
// Service starts no workflow and waits for none. An assertion never leaves this package: a verified request is stored as a row,
// and the workflow receives only the digest of that row.
package challenge

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// MaxFailures is the number of refused assertions after which a challenge fails.
const MaxFailures = 5

// Methods of completing a challenge, and the strength each has.
const (
	MethodPasskey        = "passkey"
	MethodSandboxConfirm = "sandbox_confirm"

	StrengthPhishingResistant = "phishing_resistant"
	StrengthSandbox           = "sandbox"
)

// Assertions makes and verifies passkey assertions over a challenge (internal/subject/passkey).
type Assertions interface {
	AssertionOptions(ctx context.Context, scope pg.Scope, c models.Challenge, rpID string) (any, error)
	// VerifyAssertion returns the passkey with the counter and backup state of the assertion; it writes nothing. Refusals
	// have the codes assertion_*, or problem.ChallengeClosed if the assertion has settled the challenge meanwhile.
	VerifyAssertion(ctx context.Context, scope pg.Scope, c models.Challenge, assertion json.RawMessage, now time.Time) (models.Passkey, error)
	// OpeningOptions and VerifyOpening do the same for the ceremony that opens a link and confirms nothing.
	OpeningOptions(ctx context.Context, scope pg.Scope, c models.Challenge, l models.ChallengeLink) (any, error)
	VerifyOpening(ctx context.Context, scope pg.Scope, c models.Challenge, l models.ChallengeLink, assertion json.RawMessage) error
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store      *pg.Store
	Clock      clock.Clock
	Keyring    *keyring.Keyring // for the MACs of link tickets and the details that are shown
	Assertions Assertions
	Decide     settle.Decider
	Signable   settle.Signable // nil: always
	LinkBase   string          // URL prefix of challenge links, such as http://localhost:8080/challenge/
}

// Service shows challenges, verifies completions and makes the moves.
type Service struct {
	store      *pg.Store
	clock      clock.Clock
	keyring    *keyring.Keyring
	assertions Assertions
	decide     settle.Decider
	signable   settle.Signable
	linkBase   string
}

// New returns a Service.
func New(d Deps) *Service {
	return &Service{
		store: d.Store, clock: d.Clock, keyring: d.Keyring, assertions: d.Assertions, decide: d.Decide, signable: d.Signable, linkBase: d.LinkBase,
	}
}

// View is the contract's ChallengePublicView.
type View struct {
	ID     string
	Status models.ChallengeStatus
	// Methods are those that the challenge offers; a completion must use one of them.
	Methods   []string
	ExpiresAt time.Time
	// Display is the JSON that the user confirms. Its digest is part of what a passkey signs.
	Display     json.RawMessage
	Child       *string // the follow-up decision of a completed challenge
	CompletedAt *time.Time
}

// Effective returns the status of a challenge at a time: an open one that is due is expired, however late its timer.
func Effective(c models.Challenge, now time.Time) models.ChallengeStatus {
	if c.Status == models.ChallengeOpen && !now.Before(c.ExpiresAt) {
		return models.ChallengeExpired
	}
	return c.Status
}

// Get returns one challenge of the environment.
func (s *Service) Get(ctx context.Context, scope pg.Scope, id string) (View, error) {
	c, err := GetChallenge(ctx, s.store.Q, scope, id)
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, c)
}

func (s *Service) view(ctx context.Context, c models.Challenge) (View, error) {
	shown, err := s.shown(ctx, c)
	return View{ID: c.ID, Status: Effective(c, s.clock.Now()), Methods: c.Methods, ExpiresAt: c.ExpiresAt, Display: shown,
		Child: c.ChildAuthorizationID, CompletedAt: c.SettledAt}, err
}

// Options is the contract's PasskeyAssertionOptions.
type Options struct {
	PublicKey any     `json:"publicKey"` // PublicKeyCredentialRequestOptions
	Binding   Binding `json:"binding"`
}

// Binding lists the values that the WebAuthn challenge is the digest of (passkey.ChallengeBytes), so that the caller can recompute
// it from what it shows. Random is base64url. None of them is secret once the WebAuthn challenge is out.
type Binding struct {
	Random        string `json:"random"`
	Challenge     string `json:"challenge"`
	ActionHash    string `json:"action_hash"`
	DisplayDigest string `json:"display_digest"`
}

// Options returns the options of the passkey ceremony. An empty rpID leaves the choice to the environment and the subject's passkeys.
func (s *Service) Options(ctx context.Context, scope pg.Scope, id, rpID string) (Options, error) {
	c, err := GetChallenge(ctx, s.store.Q, scope, id)
	if err != nil {
		return Options{}, err
	}
	if err := refuseSettled(Effective(c, s.clock.Now())); err != nil {
		return Options{}, err
	}
	if err := offered(c, MethodPasskey); err != nil {
		return Options{}, err
	}
	if err := s.requireShown(ctx, c); err != nil {
		return Options{}, err
	}
	publicKey, err := s.assertions.AssertionOptions(ctx, scope, c, rpID)
	random := base64.RawURLEncoding.EncodeToString(c.Random)
	return Options{publicKey, Binding{random, c.ID, c.ActionHash, c.DisplayDigest}}, err
}

// refuseSettled returns the refusal of a challenge that is not open, and nil for an open one.
func refuseSettled(status models.ChallengeStatus) error {
	switch status {
	case models.ChallengeOpen:
		return nil
	case models.ChallengeExpired:
		return problem.New(problem.ChallengeExpired, "The challenge has expired.")
	default:
		return problem.Newf(problem.ChallengeClosed, "The challenge is %s.", status)
	}
}

// offered refuses a method that the challenge does not offer.
func offered(c models.Challenge, method string) error {
	for _, m := range c.Methods {
		if m == method {
			return nil
		}
	}
	return problem.Newf(problem.MethodNotOffered, "The challenge does not offer %s.", method)
}

func strength(method string) string {
	if method == MethodPasskey {
		return StrengthPhishingResistant
	}
	return StrengthSandbox
}

// requestDigest returns the digest of the whole request. Two requests share it only if they request the same of the same
// challenge.
func requestDigest(move, id, method string, assertion json.RawMessage) ([]byte, error) {
	var parsed any
	if len(assertion) > 0 {
		if err := json.Unmarshal(assertion, &parsed); err != nil {
			return nil, problem.New(problem.AssertionMalformed, "The assertion is not valid JSON.")
		}
	}
	body, err := canonical.JSON(map[string]any{"move": move, "challenge": id, "method": method, "assertion": parsed})
	if err != nil {
		return nil, problem.New(problem.AssertionMalformed, "The assertion contains a value without an exact JSON form.")
	}
	sum := sha256.Sum256(body)
	return sum[:], nil
}
