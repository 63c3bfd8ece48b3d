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

// ActionHash returns the action_hash of an authorization; docs/action-hash.md has the recipe and test vectors. It returns an
// error if a field other than Actor and Context is empty, or if Context has no canonical form.
func ActionHash(in ActionHashInput) (string, error) {
	if err := in.complete(); err != nil {
		return "", err
	}
	f := NewForm()
	defer f.Close()
	in.write(&f)
	digest, err := f.Digest()
	if err != nil {
		return "", fmt.Errorf("action hash: %w", err)
	}
	return digest, nil
}

// ResourceDigest returns the digest of a resource. It is stored and appears in proofs and displays instead of the relying
// party's own resource id, which never leaves the request.
func ResourceDigest(resourceType, resourceID string) (string, error) {
	f := NewForm()
	defer f.Close()
	f.resource(resourceType, resourceID)
	return f.Digest()
}

// ContextDigest returns the digest of an authorize request's context; nil and {} have the same digest.
func ContextDigest(context map[string]any) (string, error) {
	return Digest(orEmpty(context))
}

// write writes the hashed document, with its members in their canonical order; docs/action-hash.md specifies it, so neither a name nor
// a form may change.
func (in *ActionHashInput) write(f *Form) {
	f.Raw(`{"action":{"content_hash":`).Text(in.ContentHash).Raw(`,"key":`).Text(in.ActionKey)
	f.Raw(`,"policy_version":`).Integer(int64(in.PolicyVersion)).Raw(`},"actor":`)
	if in.Actor == nil {
		f.Raw(`null`)
	} else {
		f.Raw(`{"id":`).Text(in.Actor.ID).Raw(`,"type":`).Text(in.Actor.Type).Raw(`}`)
	}
	f.Raw(`,"audience":`).Text(in.Audience).Raw(`,"context":`).Value(orEmpty(in.Context))
	f.Raw(`,"environment":`).Text(in.Environment).Raw(`,"nonce":`).Text(in.Nonce).Raw(`,"resource":`)
	f.resource(in.ResourceType, in.ResourceID)
	f.Raw(`,"subject":`).Text(in.Subject).Raw(`,"v":"` + actionHashVersion + `"}`)
}

func (f *Form) resource(resourceType, resourceID string) {
	f.Raw(`{"id":`).Text(resourceID).Raw(`,"type":`).Text(resourceType).Raw(`}`)
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
