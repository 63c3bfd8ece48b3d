package storedvalues_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

const schema = `{"x-countersign-keep": true, "properties": {
	"amount": {"type": "number", "x-countersign-keep": true},
	"payee": {"properties": {"iban": {"x-countersign-keep": true}, "name": {}}},
	"device": {"type": "object", "x-countersign-keep": true},
	"memo": {"type": "string"}
}}`

func TestValuesHasTheMarkedPropertiesAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		context, want string
		pointers      []string
	}{
		"all": {
			`{"amount": 12345678901234567.10, "payee": {"iban": "DE89", "name": "secret"}, "device": {"os": "x"}, "memo": "secret"}`,
			`{"amount": 12345678901234567.10, "payee": {"iban": "DE89"}, "device": {"os": "x"}}`,
			[]string{"/amount", "/device", "/payee/iban"},
		},
		"a missing property is known to be missing": {`{"memo": "secret"}`, `{}`, []string{"/amount", "/device", "/payee/iban"}},
		"null is a value":                      {`{"amount": null}`, `{"amount": null}`, []string{"/amount", "/device", "/payee/iban"}},
		"null in place of an object":           {`{"payee": null}`, `{"payee": null}`, []string{"/amount", "/device", "/payee/iban"}},
		"an object that is none":               {`{"payee": "secret"}`, `{}`, []string{"/amount", "/device"}},
		"an empty object is known to be there": {`{"payee": {"name": "secret"}}`, `{"payee": {}}`, []string{"/amount", "/device", "/payee/iban"}},
		"a value beyond the bound is not kept": {`{"amount": 1, "device": {"os": "` + strings.Repeat("x", storedvalues.MaxValue) + `"}}`, `{"amount": 1}`, []string{"/amount", "/payee/iban"}},
		"no context":                           {``, `{}`, []string{"/amount", "/device", "/payee/iban"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := storedvalues.Parse([]byte(schema))
			require.NoError(t, err)
			values, err := plan.Values("acc_1", []byte(c.context))
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(values.Context))
			require.Equal(t, c.pointers, values.Kept)
			require.Equal(t, "acc_1", *values.ResourceID)
			if name == "all" {
				require.Contains(t, string(values.Context), "12345678901234567.10", "the digits that were sent")
			}
		})
	}
}

func TestKnowsWhatIsKept(t *testing.T) {
	t.Parallel()
	values := &storedvalues.Values{Kept: []string{"/device", "/payee/iban"}}
	for name, c := range map[string]struct {
		path            []string
		value, presence bool
	}{
		"kept":                   {[]string{"payee", "iban"}, true, true},
		"below one that is kept": {[]string{"device", "os"}, true, true},
		"above one that is kept": {[]string{"payee"}, false, true},
		"beside":                 {[]string{"payee", "name"}, false, false},
		"a longer name":          {[]string{"devices"}, false, false},
		"all":                    {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.value, values.Knows(c.path))
			require.Equal(t, c.presence, values.KnowsPresence(c.path))
		})
	}
	require.False(t, (*storedvalues.Values)(nil).Knows([]string{"device"}))
}

func TestPlanWithoutMarksKeepsNothing(t *testing.T) {
	t.Parallel()
	plan, err := storedvalues.Parse([]byte(`{"properties": {"amount": {"type": "number"}}}`))
	require.NoError(t, err)
	require.True(t, plan.Empty())
	values, err := plan.Values("acc_1", []byte(`{"amount": 5}`))
	require.NoError(t, err)
	require.Nil(t, values)
}

func TestParseRefusesAMarkThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	many := `{"properties": {`
	for i := range storedvalues.MaxProperties + 1 {
		if i > 0 {
			many += ","
		}
		many += `"p` + strings.Repeat("x", i) + `": {"x-countersign-keep": true}`
	}
	for name, c := range map[string]struct{ schema, want string }{
		"no boolean":        {`{"properties": {"a": {"x-countersign-keep": "yes"}}}`, "context_schema/properties/a/x-countersign-keep: must be true"},
		"false":             {`{"properties": {"a": {"x-countersign-keep": false}}}`, "leave it out for a property that is not kept"},
		"in items":          {`{"properties": {"a": {"items": {"x-countersign-keep": true}}}}`, "x-countersign-keep is read on the schema itself"},
		"within a kept one": {`{"properties": {"a": {"x-countersign-keep": true, "properties": {"b": {"x-countersign-keep": true}}}}}`, "context_schema/properties/a/properties/b/x-countersign-keep: /a is kept whole"},
		"too many":          {many + `}}`, "at most 16 properties can be kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := storedvalues.Parse([]byte(c.schema))
			var fault *annotation.Fault
			require.ErrorAs(t, err, &fault)
			require.Contains(t, fault.Error(), c.want)
		})
	}
}

func TestVaultOpensForTheSameDecisionOnly(t *testing.T) {
	t.Parallel()
	keys, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	vault := storedvalues.NewVault(keys)
	resource := "acc_1"
	values := &storedvalues.Values{Kept: []string{"/amount"}, Context: []byte(`{"amount":5}`), ResourceID: &resource}
	sealed, err := vault.Seal("azn_1", values)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "amount")

	opened, err := vault.Open("azn_1", sealed)
	require.NoError(t, err)
	require.Equal(t, values, opened)
	_, err = vault.Open("azn_2", sealed)
	require.ErrorContains(t, err, "azn_2")
	none, err := vault.Open("azn_1", nil)
	require.NoError(t, err)
	require.Nil(t, none)
}
