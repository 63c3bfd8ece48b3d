package events

import (
	"maps"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// Between adds to an entry's data the digests of what was changed as it was before and as it is after: who holds the
// documents can show that they are those, and the log shows none of them. What is nil has no digest.
func Between(data map[string]any, before, after any) (map[string]any, error) {
	out := maps.Clone(data)
	if out == nil {
		out = map[string]any{}
	}
	for name, v := range map[string]any{"before": before, "after": after} {
		if v == nil {
			continue
		}
		digest, err := canonical.Digest(v)
		if err != nil {
			return nil, err
		}
		out[name] = digest
	}
	return out, nil
}
