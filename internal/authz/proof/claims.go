// Package proof makes and checks Proofs of Agency: ES256 compact JWS of type poa+jwt, which prove to a
// relying party, offline, that the service allowed this subject this action on this resource.
//
// The package signs, verifies and formats keys. It may not read a clock (the caller passes the time), store anything,
// or know whether a proof was consumed or revoked, which package signing does. It accepts the compact form only, takes the
// algorithm from no input, and trusts no key that a proof contains.
package proof

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of a proof's lifetime in the contract, and of the clock difference that a verifier may tolerate.
const (
	MinTTL    = 30 * time.Second
	MaxTTL    = 900 * time.Second
	MaxLeeway = 60 * time.Second
)

// LongestOpen bounds the time from a decision to the expiry of its proof, with a margin for decisions in progress.
const LongestOpen = MaxTTL + time.Minute

// Claims is the claim set. Times are Unix seconds. Every field is required but Actor, FreshnessMS and Grant.
type Claims struct {
	Issuer          string    `json:"iss"`
	Subject         string    `json:"sub"` // the relying party's own id of the subject
	Audience        string    `json:"aud"` // exactly one
	IssuedAt        int64     `json:"iat"`
	NotBefore       int64     `json:"nbf"`
	Expires         int64     `json:"exp"`      // first second at which the proof is invalid
	ID              string    `json:"jti"`      // identifies the proof when it is consumed or revoked
	Nonce           string    `json:"nonce"`    // of the authorize request
	Environment     string    `json:"env"`      // id of the environment
	EnvironmentKind string    `json:"env_kind"` // sandbox or live
	Mode            string    `json:"mode"`     // the action's mode: enforce
	Authorization   string    `json:"azn"`      // id of the authorization
	Action          Action    `json:"act"`
	Resource        Resource  `json:"res"`
	Context         string    `json:"ctx"` // digest of the request's context
	Assurance       Assurance `json:"assurance"`
	Methods         []string  `json:"amr"`             // Method constants; empty if the policy required none of them
	Grant           string    `json:"grant,omitempty"` // id of the standing approval that allowed the action
}

// Action identifies the authorized action and its contract.
type Action struct {
	Key           string `json:"key"`
	Hash          string `json:"hash"` // action_hash, see docs/proof.md
	PolicyVersion int    `json:"policy_version"`
	ContentHash   string `json:"content_hash"`
}

// Resource identifies what the action is performed on. The id itself is not included, only its digest.
type Resource struct {
	Type   string `json:"type"`
	Digest string `json:"digest"`
}

// Assurance summarises the assurance profile of the decision.
type Assurance struct {
	Coverage    string            `json:"coverage"`
	FreshnessMS *int64            `json:"freshness_ms"` // milliseconds; null if there was no evidence
	Claims      map[string]string `json:"claims"`       // claim to status
}

// Values of amr: what the decision is based on.
const (
	MethodBehaviour      = "behaviour"       // fresh evidence met a minimum on a claim about the user, without automation or replay
	MethodPasskey        = "passkey"         // a completed passkey challenge
	MethodSandboxConfirm = "sandbox_confirm" // a confirmed sandbox challenge
	MethodReview         = "review"          // a reviewer's approval of a hold
	MethodBreakGlass     = "break_glass"     // one person approved a hold alone; a review follows
	MethodStanding       = "standing"        // a standing approval, which Grant names
)

// check validates a claim set, before signing and after verification.
func (c Claims) check() error {
	for _, f := range []struct{ name, value string }{
		{"iss", c.Issuer}, {"sub", c.Subject}, {"aud", c.Audience}, {"jti", c.ID}, {"nonce", c.Nonce}, {"env", c.Environment},
		{"env_kind", c.EnvironmentKind}, {"mode", c.Mode}, {"azn", c.Authorization}, {"act.key", c.Action.Key},
		{"act.hash", c.Action.Hash}, {"act.content_hash", c.Action.ContentHash}, {"res.type", c.Resource.Type},
		{"res.digest", c.Resource.Digest}, {"ctx", c.Context}, {"assurance.coverage", c.Assurance.Coverage},
	} {
		if f.value == "" {
			return fmt.Errorf("claim %s is missing", f.name)
		}
	}
	if c.Action.PolicyVersion < 1 {
		return errors.New("claim act.policy_version is below 1")
	}
	if c.Methods == nil {
		return errors.New("claim amr is missing")
	}
	return c.checkTimes()
}

// checkTimes checks the order of the times and the lifetime.
func (c Claims) checkTimes() error {
	if c.IssuedAt <= 0 || c.NotBefore < c.IssuedAt {
		return errors.New("claims iat and nbf are not in order")
	}
	seconds := c.Expires - c.NotBefore // compared as seconds: as a Duration a huge exp would overflow into range
	if seconds < int64(MinTTL/time.Second) || seconds > int64(MaxTTL/time.Second) {
		return fmt.Errorf("claims nbf and exp are not %s to %s apart", MinTTL, MaxTTL)
	}
	return nil
}
