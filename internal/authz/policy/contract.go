package policy

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// Contract is the immutable content of a policy version: everything that determines the decisions about an action.
type Contract struct {
	Requirements     Requirements   `json:"requirements"` // resolved
	ContextSchema    map[string]any `json:"context_schema"`
	AllowedAudiences []string       `json:"allowed_audiences"`
	AllowedCallers   []string       `json:"allowed_callers"`   // empty permits any server credential of the environment
	ProofTTLSeconds  int            `json:"proof_ttl_seconds"` // 30..900
}

// ContentHash returns the content_hash of the contract: the digest of its five fields in canonical JSON, exactly as
// the API returns the policy version, so that a relying party can recompute it. Requirements must be resolved; a nil map or
// list is hashed as the empty one. It fails on a context_schema that has no canonical form.
func (c Contract) ContentHash() (string, error) {
	if c.ContextSchema == nil {
		c.ContextSchema = map[string]any{}
	}
	if c.AllowedAudiences == nil {
		c.AllowedAudiences = []string{}
	}
	if c.AllowedCallers == nil {
		c.AllowedCallers = []string{}
	}
	digest, err := canonical.Digest(c)
	if err != nil {
		return "", fmt.Errorf("content hash: %w", err)
	}
	return digest, nil
}
