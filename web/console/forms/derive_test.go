package forms

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
)

// A form has every property of its operation's body, with the control, the limits and the choices of the contract, although it declares none of them.
func TestFormsDeriveFromTheContract(t *testing.T) {
	t.Parallel()
	contract, err := openapi.Compile()
	require.NoError(t, err)
	f := Form{Operation: "createCredential", Fields: []Field{{Name: "name", Label: "Program"}, {Name: "scope", Label: "Scope"}}, Omits: []string{"permissions"}}
	f.Derive(contract)
	f.Derive(contract)
	at := func(name string) Field {
		i := slices.IndexFunc(f.Fields, func(one Field) bool { return one.Name == name })
		require.GreaterOrEqual(t, i, 0, name)
		return f.Fields[i]
	}
	require.Len(t, f.Fields, 4)
	require.Equal(t, "name", f.Fields[0].Name, "declared fields come first, in their order")
	require.Equal(t, OneLine, at("name").Kind)
	require.Equal(t, 120, *at("name").MaxLength)
	require.Equal(t, Choice, at("scope").Kind)
	require.True(t, at("scope").Required)
	require.ElementsMatch(t, Options("server", "admin", "client"), at("scope").Options)
	require.Equal(t, "Rate limit", at("rate_limit").Label)
	require.Equal(t, Number, at("rate_limit").Kind)
	require.NotEmpty(t, at("rate_limit").Hint)
	require.Equal(t, Moment, at("expires_at").Kind)

	nested := Form{Operation: "createEvaluation", Fields: []Field{{Name: "name"}, {Name: "action_keys", Kind: SomeOf}, {Name: "success_criteria.min_outcome_coverage", Label: "Coverage"}}}
	nested.Derive(contract)
	require.Equal(t, Number, nested.Fields[2].Kind)
	require.Equal(t, "0 to 1.", nested.Fields[2].Hint)
	whole := Form{Operation: "createPolicyVersion", Fields: []Field{{Kind: JsonText}}}
	whole.Derive(contract)
	require.Len(t, whole.Fields, 1)
}
