package canonical

import (
	"errors"
	"fmt"
)

// actionHashVersion versions the set of hashed fields: it changes if and only if that set changes.
const actionHashVersion = "countersign.action.v1"

// Actor is the human a relying party names as performing the action.
type Actor struct {
	Type string `json:"type"` // "human"
	ID   string `json:"id"`
}

// ActionHashInput is everything an authorization is bound to. All strings are hashed byte for byte: no trimming, no
// case folding, no Unicode normalisation.
type ActionHashInput struct {
	ActionKey     string
	PolicyVersion int // 1 and up
	// content_hash of that policy version.
	ContentHash string
	Subject     string
	// Nil if the request names none; hashed as null.
	Actor        *Actor
	ResourceType string
	ResourceID   string
	Audience     string
	Context      map[string]any // nil is hashed as {}
	Nonce        string
	// Id of the environment, not its kind.
	Environment string
}

// ActionHash returns the action_hash of an authorization; docs/proof.md has the recipe and test vectors. It returns an
// error if a field other than Actor and Context is empty, or if Context has no canonical form.
func ActionHash(in ActionHashInput) (string, error) {
	if err := in.complete(); err != nil {
		return "", err
	}
	digest, err := Digest(in.document())
	if err != nil {
		return "", fmt.Errorf("action hash: %w", err)
	}
	return digest, nil
}

// ResourceDigest returns the digest of a resource. It is stored and appears in proofs and displays instead of the relying
// party's own resource id, which never leaves the request.
func ResourceDigest(resourceType, resourceID string) (string, error) {
	return Digest(resource{resourceType, resourceID})
}

// ContextDigest returns the digest of an authorize request's context; nil and {} have the same digest.
func ContextDigest(context map[string]any) (string, error) {
	return Digest(orEmpty(context))
}

// hashed is the document that is hashed; docs/proof.md specifies it, so neither a name nor a form may change.
type hashed struct {
	Version     string         `json:"v"`
	Action      policy         `json:"action"`
	Subject     string         `json:"subject"`
	Actor       *Actor         `json:"actor"`
	Resource    resource       `json:"resource"`
	Audience    string         `json:"audience"`
	Context     map[string]any `json:"context"`
	Nonce       string         `json:"nonce"`
	Environment string         `json:"environment"`
}

type policy struct {
	Key         string `json:"key"`
	Version     int    `json:"policy_version"`
	ContentHash string `json:"content_hash"`
}

type resource struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func (in ActionHashInput) document() hashed {
	return hashed{
		Version: actionHashVersion, Action: policy{in.ActionKey, in.PolicyVersion, in.ContentHash}, Subject: in.Subject, Actor: in.Actor,
		Resource: resource{in.ResourceType, in.ResourceID}, Audience: in.Audience, Context: orEmpty(in.Context), Nonce: in.Nonce,
		Environment: in.Environment,
	}
}

// complete returns an error for an input with an empty field. That is a programming error, and hashing it would bind a proof to
// less than it claims.
func (in ActionHashInput) complete() error {
	for _, f := range []struct{ name, value string }{
		{"action key", in.ActionKey}, {"content hash", in.ContentHash}, {"subject", in.Subject},
		{"resource type", in.ResourceType}, {"resource id", in.ResourceID}, {"audience", in.Audience},
		{"nonce", in.Nonce}, {"environment", in.Environment},
	} {
		if f.value == "" {
			return fmt.Errorf("action hash: %s is empty", f.name)
		}
	}
	if in.PolicyVersion < 1 {
		return fmt.Errorf("action hash: policy version %d is below 1", in.PolicyVersion)
	}
	if in.Actor != nil && (in.Actor.ID == "" || in.Actor.Type == "") {
		return errors.New("action hash: actor has an empty id or type")
	}
	return nil
}

func orEmpty(context map[string]any) map[string]any {
	if context == nil {
		return map[string]any{}
	}
	return context
}
