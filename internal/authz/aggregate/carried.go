package aggregate

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// holderPurpose names the key of the digests under which counts are stored of a subject that was erased, and of a resource that it paid to.
const holderPurpose = "aggregate-holders"

// carriedPrefix marks such a digest, and what stands for the request in rows that were carried: no id or digest begins with it.
const carriedPrefix = "erased:"

// DecisionsField is the field of the decisions of an erased subject, which rules count without any property. No property has this name.
const DecisionsField = "@decisions"

// SignalsField is that of the security events about an erased subject: the type in place of the action, the time of receipt in place of the
// reservation. Their decision is that of no one.
const SignalsField = "@signals"

// longestWindow is the longest window of a rule.
const longestWindow = 30 * 24 * time.Hour

// Whose counts they are.
const (
	heldBySubject  = "subject"
	heldByResource = "resource"
)

// CarriedResource returns the digests under which the counts of a resource are stored of subjects that were erased, one for each key of the
// keyring. The digests given are ResourceDigests.
func (v Vault) CarriedResource(environment string, digests []string) []string {
	var out []string
	for _, digest := range digests {
		out = append(out, v.holders(environment, heldByResource, digest)...)
	}
	return out
}

// holders returns the digests of whatever counts are stored under, one for each key of the keyring, the active one first.
func (v Vault) holders(environment, kind, id string) []string {
	var out []string
	for _, mac := range v.keys.MACs(holderPurpose, []byte(environment), []byte(kind), []byte(id)) {
		out = append(out, carriedPrefix+hex.EncodeToString(mac))
	}
	return out
}

// Carry replaces what rules count of a subject, which is being erased, by rows of keyed digests: one of its id, apart from one of each resource.
// Nothing else of its requests remains, and these end as the others do. They restrict the next subject with the id and vouch for nothing: no value was
// seen. It returns how many rows it deleted.
func (v Vault) Carry(ctx context.Context, q *pg.Q, s models.Subject, at time.Time) (int64, error) {
	counted, err := resourcesOf(ctx, q, s)
	if err != nil {
		return 0, err
	}
	resources := make(map[string]string, len(counted))
	for _, digest := range counted {
		resources[digest] = v.holders(s.EnvironmentID, heldByResource, digest)[0]
	}
	return carry(ctx, q, s, v.holders(s.EnvironmentID, heldBySubject, s.ExternalID)[0], resources, at.Add(-longestWindow))
}

// TakeOver gives a new subject the counts of the erased one that had its id.
func (v Vault) TakeOver(ctx context.Context, q *pg.Q, s models.Subject) error {
	return takeOver(ctx, q, s, v.holders(s.EnvironmentID, heldBySubject, s.ExternalID))
}
