package forms

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

func TestRefusalsInPeoplesWords(t *testing.T) {
	t.Parallel()
	of := func(f Field, msg, kind string, where ...any) string {
		return f.InWords(problem.Field{Loc: where, Msg: msg, Type: kind})
	}
	key := Field{Name: "key", Label: "Key", Hint: "Dotted lower case, such as payments.transfer."}
	require.Equal(t, "Key is not written as it must be. Dotted lower case, such as payments.transfer.", of(key, "key must match ^[a-z]$", "string_pattern_mismatch", "body", "key"))
	require.Equal(t, "Key is missing. Fill it in.", of(key, "key is required", "missing", "body", "key"))
	age := Field{Name: "requirements.freshness_max_ms", Label: "Maximum age"}
	require.Equal(t, "Maximum age must be at least 1000.", of(age, "requirements.freshness_max_ms must be at least 1000", "greater_than_equal", "body", "requirements", "freshness_max_ms"))
	when := Field{Label: "Condition"}
	require.Equal(t, "Line 1 column 9: there is no property.", of(when, `requirements.rules[0].when of the rule "x": line 1 column 9: there is no property.`, "rule_invalid", "body", "requirements", "rules", 0, "when"))
	require.Equal(t, "Something else.", of(key, "Something else.", "value_error", "body", "key"))
}
