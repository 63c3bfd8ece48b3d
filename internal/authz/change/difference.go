package change

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/models"
)

// Difference is one field that a change gives a different value. A field that is not set is null.
type Difference struct {
	// Field is a dotted path, such as requirements.claims.operator_continuity.
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// policyDifferences compares the contents of two versions; nil before stands for no version.
func policyDifferences(before *models.PolicyVersion, after models.PolicyVersion) ([]Difference, error) {
	var old any = map[string]any{}
	if before != nil {
		old = content(*before)
	}
	return fieldDifferences(old, content(after))
}

func content(v models.PolicyVersion) any {
	return map[string]any{
		"requirements": json.RawMessage(v.Requirements), "context_schema": json.RawMessage(v.ContextSchema),
		"allowed_audiences": list(v.AllowedAudiences), "allowed_callers": list(v.AllowedCallers), "proof_ttl_seconds": v.ProofTTLSeconds,
	}
}

// list returns an empty list for nil.
func list(s models.Strings) []string { return append([]string{}, s...) }

// fieldDifferences compares two documents field by field.
func fieldDifferences(before, after any) ([]Difference, error) {
	old, err := fields(before)
	if err != nil {
		return nil, err
	}
	now, err := fields(after)
	if err != nil {
		return nil, err
	}
	names := maps.Clone(old)
	maps.Copy(names, now)
	out := []Difference{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d := Difference{Field: name, Before: orNull(old[name]), After: orNull(now[name])}
		if !bytes.Equal(d.Before, d.After) {
			out = append(out, d)
		}
	}
	return out, nil
}

// fields returns the fields of a document in canonical form, without those that are null.
func fields(document any) (map[string]json.RawMessage, error) {
	raw, err := canonical.JSON(document)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	return out, flatten(out, "", raw)
}

// flatten adds the fields of a JSON object to a map. It enters requirements and its objects, brand and passkeys; other values are compared
// whole.
func flatten(to map[string]json.RawMessage, prefix string, raw json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return err
	}
	for name, value := range object {
		enter := prefix == "" && (name == "requirements" || name == "brand" || name == "passkeys") || prefix == "requirements." && value[0] == '{'
		switch {
		case string(value) == "null":
		case enter:
			if err := flatten(to, prefix+name+".", value); err != nil {
				return err
			}
		default:
			to[prefix+name] = value
		}
	}
	return nil
}

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}
