package proof

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/sdk/go/exact"
)

// Claims is the claim set of a proof. Times are Unix seconds.
type Claims struct {
	Issuer          string    `json:"iss"`
	Subject         string    `json:"sub"` // the relying party's own id
	Audience        string    `json:"aud"`
	IssuedAt        int64     `json:"iat"`
	NotBefore       int64     `json:"nbf"`
	Expires         int64     `json:"exp"`   // first second at which the proof is no longer good
	ID              string    `json:"jti"`   // what using it once goes by
	Nonce           string    `json:"nonce"` // of the authorize request
	Environment     string    `json:"env"`
	EnvironmentKind string    `json:"env_kind"` // sandbox or live
	Mode            string    `json:"mode"`
	Authorization   string    `json:"azn"`
	Action          Action    `json:"act"`
	Resource        Resource  `json:"res"`
	Context         string    `json:"ctx"` // digest of the request's context
	Assurance       Assurance `json:"assurance"`
	Methods         []string  `json:"amr"` // behaviour, passkey, sandbox_confirm, review
}

// Action is the authorized action and the policy that allowed it.
type Action struct {
	Key           string `json:"key"`
	Hash          string `json:"hash"` // see ActionHash
	PolicyVersion int64  `json:"policy_version"`
	ContentHash   string `json:"content_hash"`
}

// Resource is the resource of the action; its id is part of a digest only.
type Resource struct {
	Type   string `json:"type"`
	Digest string `json:"digest"` // see ResourceDigest
}

// Assurance sums up what the decision rested on.
type Assurance struct {
	Coverage    string            `json:"coverage"`
	FreshnessMS *int64            `json:"freshness_ms"` // milliseconds; nil if there was no evidence
	Claims      map[string]string `json:"claims"`       // claim to status
}

func parseClaims(raw []byte) (*Claims, error) {
	var c Claims
	if exact.Check(raw) != nil || json.Unmarshal(raw, &c) != nil {
		return nil, refuse("proof_claims_invalid", "the claims are not of a proof's shape")
	}
	for _, value := range []string{c.Issuer, c.Subject, c.Audience, c.ID, c.Nonce, c.Environment, c.EnvironmentKind, c.Mode, c.Authorization,
		c.Action.Key, c.Action.Hash, c.Action.ContentHash, c.Resource.Type, c.Resource.Digest, c.Context} {
		if value == "" {
			return nil, refuse("proof_claims_invalid", "a claim that every proof has is missing")
		}
	}
	if c.Expires <= c.NotBefore {
		return nil, refuse("proof_claims_invalid", "the proof ends before it begins")
	}
	return &c, nil
}
