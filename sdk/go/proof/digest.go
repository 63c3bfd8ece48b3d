package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/gowebpki/jcs"
)

// Request has the fields of an authorize request that action_hash covers.
type Request struct {
	Action        string
	PolicyVersion int64  // of the authorize response
	ContentHash   string // of that policy version
	Subject       string
	Actor         string // id; empty where the request had no actor
	ResourceType  string
	ResourceID    string
	Audience      string
	Context       map[string]any // nil is {}
	Nonce         string
	Environment   string // id
}

// ActionHash is the action_hash of a request (docs/proof.md): what binds a proof to it as a whole. The error says
// what of the context is no JSON.
func ActionHash(r Request) (string, error) {
	type object = map[string]any
	var actor any
	if r.Actor != "" {
		actor = object{"type": "human", "id": r.Actor}
	}
	context := r.Context
	if context == nil {
		context = object{}
	}
	return digest(object{
		"v":           "countersign.action.v1",
		"action":      object{"key": r.Action, "policy_version": r.PolicyVersion, "content_hash": r.ContentHash},
		"subject":     r.Subject,
		"actor":       actor,
		"resource":    object{"type": r.ResourceType, "id": r.ResourceID},
		"audience":    r.Audience,
		"nonce":       r.Nonce,
		"context":     context,
		"environment": r.Environment,
	})
}

// ResourceDigest is res.digest of a proof.
func ResourceDigest(kind, id string) (string, error) {
	return digest(map[string]any{"type": kind, "id": id})
}

// ContextDigest is ctx of a proof. A nil context is {}.
func ContextDigest(context map[string]any) (string, error) {
	if context == nil {
		context = map[string]any{}
	}
	return digest(context)
}

// Canonical returns the canonical JSON (RFC 8785) of v, over which digests are computed: what the client sends for v, in one form. The
// error reports a value that has no such form, such as NaN, or an encoding with two members of one name.
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	return canonical, nil
}

// digest is sha256: and the hex SHA-256 of canonical JSON.
func digest(v any) (string, error) {
	canonical, err := Canonical(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
