package integration_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/models"
)

// propertiesOf returns the paths of the values in the body of an operation's schema.
func propertiesOf(t testing.TB, schema string) []string {
	t.Helper()
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(openapi.Document(), &doc))
	var out []string
	for name, p := range doc.Components.Schemas[schema].Properties {
		if p.Ref == "" {
			out = append(out, name)
			continue
		}
		for _, inner := range propertiesOf(t, p.Ref[strings.LastIndex(p.Ref, "/")+1:]) {
			out = append(out, name+"."+inner)
		}
	}
	return out
}

// A setting that is added to the API is added to the console.
func TestConsoleOffersEverySetting(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	page := w.signedIn(t, models.RoleOperator).get("/console/" + w.ID + "/settings").body
	properties := propertiesOf(t, "EnvironmentUpdate")
	require.Contains(t, properties, "brand.accent")
	var missing []string
	for _, name := range properties {
		if !strings.Contains(page, ` name="`+name+`"`) {
			missing = append(missing, name)
		}
	}
	require.Empty(t, missing, "settings without a control on the page")
}

func TestConsoleChangesPasskeyRulesAndReviewSettings(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	bank := w.givenRPID(t)
	v := w.signedIn(t, models.RoleOperator)
	at := "/console/" + w.ID + "/settings"
	one, other := newManufacturer(t).pem(), newManufacturer(t).pem()
	form := url.Values{
		"rp_name": {"Bank"}, "origins": {"http://localhost:8080\r\nhttps://login." + bank}, "challenge_ttl_seconds": {"300"}, "hold_ttl_seconds": {"259200"},
		"change_ttl_seconds": {"86400"}, "federated_key_days": {"30"}, "passkeys.rp_ids": {bank}, "passkeys.attestation": {"required"}, "passkeys.aaguids": {"x"}, "review_notes": {"true"},
		"case_link": {"https://{subject}.cases.example"},
	}
	for _, c := range []struct{ field, text, mended string }{
		{"case_link", "not in the host", "https://cases.example/{decision_id}"},
		{"passkeys-aaguids", "not an AAGUID", "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4"},
		{"passkeys-attestation_roots", "at least one certificate", "no certificate"},
		{"passkeys-attestation_roots", "one certificate in PEM", one + "\n" + other},
	} {
		require.Contains(t, fault(t, v.submit(at, form), c.field), c.text)
		form.Set(strings.Replace(c.field, "-", ".", 1), c.mended)
	}
	saved := v.submit(at, form)
	require.Equal(t, at+"?done=saved", saved.location, saved.body)
	after := w.Admin.get(t, environmentPath).is(200)
	require.Equal(t, true, after.value("review_notes"))
	require.Equal(t, "https://cases.example/{decision_id}", after.string("case_link"))
	require.Equal(t, "required", after.string("passkeys.attestation"))
	require.Equal(t, []any{bank}, after.value("passkeys.rp_ids"))
	require.Equal(t, []any{strings.TrimSpace(one), strings.TrimSpace(other)}, after.value("passkeys.attestation_roots"))
	require.Contains(t, v.submit(at, form).body, "Nothing was changed: every setting is as before.")

	form.Set("working_hours", "mon-fri 9:00-17:00\r\nsat 10:00-12:00")
	require.Contains(t, fault(t, v.submit(at, form), "working_zone"), "name the time zone of the hours")
	form.Set("working_zone", "Europe/Berlin")
	form.Set("holidays", "2026-12-24\r\n2026-12-25")
	require.Equal(t, at+"?done=saved", v.submit(at, form).location)
	after = w.Admin.get(t, environmentPath).is(200)
	require.Equal(t, []any{"mon-fri 09:00-17:00", "sat 10:00-12:00"}, after.value("working_hours"))
	require.Equal(t, []any{"2026-12-24", "2026-12-25"}, after.value("holidays"))
	form.Set("working_hours", "mon-fri 09:00-17:00\r\nsat 10:00-12:00")

	form.Set("passkeys.attestation", "none")
	form.Set("passkeys.attestation_roots", "")
	form.Set("case_link", "")
	require.Equal(t, at+"?done=saved", v.submit(at, form).location)
	after = w.Admin.get(t, environmentPath).is(200)
	require.Empty(t, after.value("passkeys.attestation_roots"))
	require.Empty(t, after.string("case_link"))
	require.Equal(t, []any{"ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4"}, after.value("passkeys.aaguids"), "what is not changed stays")
}
