package integration_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"image"
	"image/color"
	"image/png"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/delivery/configfile"
	"github.com/countersign-dev/countersign/models"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// byFile compares environments with files, as countersign config does.
type byFile struct {
	api *countersign.Client
	dir string
}

func (w world) byFile(t *testing.T) byFile {
	t.Helper()
	api, err := countersign.New(w.Admin.base, w.Admin.key, countersign.WithTimeout(patience))
	require.NoError(t, err)
	return byFile{api: api, dir: t.TempDir()}
}

// export returns the text of an environment's file. Its logo is written beside it.
func (f byFile) export(t *testing.T) string {
	t.Helper()
	state, err := configfile.Read(t.Context(), f.api)
	require.NoError(t, err)
	require.Empty(t, state.Notes)
	path := filepath.Join(f.dir, "export.yaml")
	require.NoError(t, state.Document.Save(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func (f byFile) plan(t *testing.T, file string, prune bool) (*configfile.Plan, error) {
	t.Helper()
	given, err := os.CreateTemp(f.dir, "given-*.yaml") // subtests plan at the same time, and the logo is beside it
	require.NoError(t, err)
	_, err = given.WriteString(file)
	require.NoError(t, err)
	require.NoError(t, given.Close())
	doc, err := configfile.Load(given.Name())
	require.NoError(t, err, "%s", file)
	return configfile.Compare(t.Context(), f.api, doc, prune)
}

// apply returns what was reported, with the secrets at its end.
func (f byFile) apply(t *testing.T, file string, prune bool) string {
	t.Helper()
	plan, err := f.plan(t, file, prune)
	require.NoError(t, err)
	var out, secrets bytes.Buffer
	require.NoError(t, plan.Apply(t.Context(), &out, &secrets))
	return out.String() + secrets.String()
}

func (f byFile) diff(t *testing.T, file string, prune bool) string {
	t.Helper()
	plan, err := f.plan(t, file, prune)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, plan.Print(t.Context(), &out, true))
	return out.String()
}

// named issues a key with a name, which files may name.
func (w world) named(t *testing.T, name string) string {
	t.Helper()
	issued, err := shared.Identity.Issue(t.Context(), w.scope(), identity.Issue{Scope: models.ScopeServer, Name: name}, "cli:test", "")
	require.NoError(t, err)
	return issued.Credential.ID
}

func logo(t *testing.T) string {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, 20, 30))
	picture.Set(3, 4, color.NRGBA{R: 200, A: 128})
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&out, picture))
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// populated is an environment with something of everything that a file has.
func populated(t *testing.T) world {
	t.Helper()
	w := newSandbox(t)
	w.Admin.patch(t, environmentPath, object{
		"rp_name": "Alder: \"Bank\"", "origins": []string{"http://localhost:8080", "http://pages.localhost"}, "page_origin": "http://pages.localhost",
		"return_origins": []string{"https://shop.example"}, "hold_ttl_seconds": 7200, "bar_self_review": true,
		"passkeys": object{"rp_ids": []string{"bank.localhost"}, "related_origins": []string{"https://shop.example"}, "aaguids": []string{"ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4"}},
		"brand":    object{"name": "Alder", "accent": "#0f5c5c", "language": "de", "logo": logo(t)},
	}).is(200)
	payments := w.named(t, "Payments backend")
	w.Admin.post(t, "/api/v1/teams", object{"key": "finance", "name": "Finance", "members": []string{"credential:" + payments}}).is(201)
	w.team(t, "leads")
	made := w.Server.post(t, "/api/v1/actions", object{
		"key": "payments.transfer", "name": "Send a transfer", "consequence": "Money leaves: forever. # \"ever\"", "allowed_audiences": []string{"a"}, "risk_class": "critical",
		"labels":        object{"de": object{"name": "Überweisung", "consequence": "Geld geht: für immer."}},
		"resource_type": "account", "proof_ttl_seconds": 60,
	}).is(201).string("id")
	w.Server.post(t, "/api/v1/actions/"+made+"/policy-versions", object{
		"allowed_callers": []string{payments},
		"context_schema": object{"type": "object", "required": []string{"amount"}, "properties": object{
			"amount": object{"type": "number", "maximum": 9007199254740991, "x-countersign-display": object{"label": "Amount", "format": "number"}}, "note": object{"const": "yes"}}},
		"requirements": object{"claims": object{"operator_continuity": "likely"}, "self_review": "barred",
			"review": []object{{"group": "finance", "approvals": 1, "escalate": object{"after_seconds": 3600, "group": "leads"}}},
			"rules":  []object{{"name": "large", "when": "context.amount > 10000", "requirements": object{"hold_on": []string{"rule_matched"}}, "reason": "Large # ones"}}},
	}).is(201)
	w.Server.post(t, "/api/v1/actions/"+made+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, "/api/v1/actions/"+made, object{"mode": "enforce"}).is(200)
	w.Server.post(t, "/api/v1/actions", object{"key": "draft.only", "name": "n", "consequence": "c", "allowed_audiences": []string{"b"}}).is(201)
	for _, description := range []string{"", "Second: same address"} {
		w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/a", "events": []string{"hold.*"}, "description": description, "include_details": true}).is(201)
	}
	w.Admin.do(t, "PUT", "/api/v1/destinations/siem", object{"kind": "https", "url": "https://siem.example/in", "header": "x-api-key"}).is(200)
	w.Admin.do(t, "PUT", "/api/v1/destinations/siem/credentials", object{"header": "Bearer 4711-secret"}).is(200)
	last := w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/b"}).is(201).string("id")
	w.Admin.patch(t, "/api/v1/webhook-endpoints/"+last, object{"status": "disabled"}).is(200)
	return w
}

func TestConfigurationFileGoesRoundWithoutLoss(t *testing.T) {
	t.Parallel()
	from, to := populated(t), newSandbox(t)
	to.named(t, "Payments backend")
	source, target := from.byFile(t), to.byFile(t)
	file := source.export(t)
	require.NotRegexp(t, `(act|env|crd|whe|pol|dst)_[0-9a-z]{26}|whsec_|4711-secret`, file, "keys and no ids or secrets")
	require.Empty(t, source.diff(t, file, true), "an environment is as its file says")

	picture, err := os.ReadFile(filepath.Join(source.dir, "export-logo.png"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(target.dir, "export-logo.png"), picture, 0o600))
	out := target.apply(t, file, true)
	require.Contains(t, out, "actions.payments.transfer: policy version 1 is active\n")
	require.Equal(t, 3, strings.Count(out, " whsec_"))
	require.Equal(t, file, target.export(t))
	require.Empty(t, target.diff(t, file, true), "applied twice is no change")
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'policy.activated'", to.ID))
	require.Equal(t, "enforce", to.Server.get(t, "/api/v1/actions?key=payments.transfer").is(200).list()[0]["mode"])
}

func TestConfigurationFileChangesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	w := populated(t)
	f := w.byFile(t)
	const file = `version: 1
environment: {hold_ttl_seconds: 3600, bar_self_review: false, brand: {language: ""}}
actions:
  payments.transfer:
    mode: shadow
    requirements:
      claims: {operator_continuity: likely}
      self_review: barred
      review: [{group: finance, approvals: 1, escalate: {after_seconds: 3600, group: leads}}]
      rules:
        - {name: large, when: context.amount > 10, requirements: {hold_on: [rule_matched]}, reason: "Large # ones"}
  payments.refund: {name: Refund, consequence: Money leaves., allowed_audiences: [a], requirements: {coverage_min: none}, mode: enforce}
`
	before := f.export(t)
	shown := f.diff(t, file, false)
	for _, want := range []string{
		"~ environment\n    bar_self_review: true -> false\n    brand.language: \"de\" -> \"\"\n    hold_ttl_seconds: 7200 -> 3600\n",
		"~ actions.payments.transfer\n    mode: \"enforce\" -> \"shadow\"\n    requirements.rules[large].when: \"context.amount > 10000\" -> \"context.amount > 10\"\n",
		"    simulation of draft version 2: 0 of the newest 0 decisions would change\n",
		"+ actions.payments.refund\n", "  actions.draft.only is not in the file and kept; --prune removes it\n",
	} {
		require.Contains(t, shown, want)
	}
	require.Equal(t, before, f.export(t), "a comparison changes nothing that decides")
	out := f.apply(t, file, false)
	require.Contains(t, out, "actions.payments.transfer: policy version 2 is active\nactions.payments.transfer: mode shadow\n", "the draft of the simulation")
	require.Equal(t, "", strings.ReplaceAll(f.diff(t, file, false), "  actions.draft.only is not in the file and kept; --prune removes it\n", ""))
	after := f.export(t)
	require.Contains(t, after, "rp_name: 'Alder: \"Bank\"'", "what the file does not name is kept")
	require.Contains(t, after, "- Payments backend\n")

	require.Contains(t, f.diff(t, file, true), "- actions.draft.only\n")
	require.Contains(t, f.apply(t, file, true), "actions.draft.only: removed\n")
	require.Contains(t, f.export(t), "hooks.example", "a section that the file does not have is kept")
	require.Contains(t, f.apply(t, "version: 1\nwebhook_endpoints: []\n", true), "webhook_endpoints https://hooks.example/b: removed\n")
	require.NotContains(t, f.export(t), "hooks.example")

	for name, c := range map[string]struct{ file, refused string }{
		"a fixed property":   {"actions: {payments.transfer: {risk_class: low}}", "actions.payments.transfer.risk_class is low in the file and critical in the environment"},
		"an unknown key":     {"actions: {payments.transfer: {allowed_callers: [Unknown]}}", `allowed_callers[0] is "Unknown": the environment must have exactly one active key`},
		"an incomplete one":  {"actions: {payments.new: {name: n}}", "the file needs its name, consequence and allowed_audiences"},
		"a policy that none": {"actions: {payments.refund: {mode: test}, x: {name: y}}", "actions.x does not exist"},
	} {
		_, err := f.plan(t, "version: 1\n"+c.file, false)
		require.ErrorContains(t, err, c.refused, name)
	}
}

func TestConfigurationFileShowsWhatPoliciesWouldHaveDecided(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, key := w.action(t, "enforce", allowing)
	w.authorize(t, w.subject(t), key, "allow")
	file := "version: 1\nactions:\n  " + key + ": {requirements: {coverage_min: none, explicit_approval_required: true}}\n"
	require.Contains(t, w.byFile(t).diff(t, file, false), "simulation of draft version 2: 1 of the newest 1 decisions would change (allow to challenge: 1)\n")
}

func TestConfigurationFileHonoursFourEyes(t *testing.T) {
	t.Parallel()
	w := populated(t)
	f := w.byFile(t)
	file := strings.Replace(f.export(t), "second_approver_required: false", "second_approver_required: true", 1)
	file = strings.Replace(file, "hold_ttl_seconds: 7200", "hold_ttl_seconds: 7300", 1)
	require.Contains(t, f.apply(t, file, false), "environment: changed\nenvironment: changed\n", "switched on after everything else")
	other := caller{base: w.Server.base, key: w.issue(t, models.ScopeAdmin, nil)}

	next := strings.Replace(strings.Replace(file, "> 10000", "> 500", 1), "mode: enforce", "mode: shadow", 1)
	plan, err := f.plan(t, next, false)
	require.NoError(t, err)
	plan.Reason = "The bank lowered its limit."
	var out bytes.Buffer
	require.ErrorIs(t, plan.Apply(t.Context(), &out, nil), configfile.ErrWaits)
	require.Equal(t, plan.Reason, other.get(t, "/api/v1/changes?status=pending").is(200).list()[0]["reason"])
	require.Regexp(t, `^actions\.payments\.transfer: waits for a second approver: chg_\w+, until \S+Z\n$`, out.String())
	var again bytes.Buffer
	require.ErrorIs(t, plan.Apply(t.Context(), &again, nil), configfile.ErrWaits)
	require.Equal(t, out.String(), again.String(), "the same draft and the same change request")
	approve := func() {
		waiting := other.get(t, "/api/v1/changes?status=pending").is(200).list()
		require.Len(t, waiting, 1)
		other.post(t, changePath(waiting[0]["id"].(string), "approve"), nil).is(200)
	}
	approve()
	require.Contains(t, f.export(t), "mode: enforce\n", "the mode is requested when the policy is active")
	plan, err = f.plan(t, next, false)
	require.NoError(t, err)
	require.ErrorIs(t, plan.Apply(t.Context(), &out, nil), configfile.ErrWaits)
	approve()
	require.Contains(t, f.export(t), "mode: shadow\n")
	require.Empty(t, f.diff(t, next, false))
}

func TestConfigurationFileOfASandboxFitsLive(t *testing.T) {
	t.Parallel()
	made := newTenant(t)
	sandbox, live := made.Sandbox, made.Live
	live.Admin.patch(t, environmentPath, object{"rp_name": "Live"}).is(200)
	sandbox.action(t, "enforce", allowing)
	file := sandbox.byFile(t).export(t)
	require.Contains(t, file, "sandbox_confirm")
	f := live.byFile(t)
	shown := f.diff(t, file, false)
	require.Contains(t, shown, "origins on this machine are left out")
	require.Contains(t, shown, "sandbox_confirm is left out of challenge_methods")
	f.apply(t, file, false)
	plan, err := f.plan(t, file, true)
	require.NoError(t, err)
	require.Empty(t, plan.Changes, "applied twice is no change")
	require.NotContains(t, f.export(t), "sandbox_confirm")
}

// spelled are files with every setting; if the service takes one in several spellings, in one that it does not store.
var spelled = map[string]string{
	"origins": `environment:
  origins: ["HTTP://LOCALHOST:080", "http://b\u00fccher.localhost:8080", "https://Pages.LOCALHOST:443"]
  page_origin: https://pages.localhost:0443
  return_origins: ["HTTPS://SHOP.example:0443", "https://m\u00fcnchen.example", "https://[2001:DB8:0:0::1]:8443", "http://127.0.0.1:80"]
  frame_ancestors: ["https://\uff33hop.example", "https://shop.example:8443"]
  passkeys: {related_origins: ["https://B\u00dcCHER.example:443"], rp_ids: ["B\u00fccher.localhost"], aaguids: [ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4], attestation: required, attestation_roots: [ROOT]}`,
	"a brand": `environment: {brand: {name: "  Alder ", accent: "#0F5C5C", language: de, logo: LOGO}, rp_name: "Alder's", case_link: "https://CRM.example:443/{decision_id}"}`,
	"numbers, switches": `environment:
  background: 'own'
  bar_self_review: true
  enrollment_grant_required: !!bool true
  key_expiry_required: True
  review_notes: TRUE
  challenge_ttl_seconds: 300
  change_ttl_seconds: 7200
  federated_key_days: 30
  hold_ttl_seconds: 7200
  resource_reservation_seconds: 600`,
	"working hours":      `environment: {working_zone: Europe/Berlin, working_hours: ["MON-Thu  9:00-17:30", "fri 09:00-24:00"], holidays: ["2026-12-24"]}`,
	"holidays of a file": `environment: {holidays_file: QkVHSU46VkNBTEVOREFSCkJFR0lOOlZFVkVOVApEVFNUQVJUOjIwMjYxMjI0CkVORDpWRVZFTlQKRU5EOlZDQUxFTkRBUgo=}`,
	"four eyes":          `environment: {second_approver_required: true}`,
	"teams, lists": `teams: {finance: {name: " Finance \t", members: ["key:Payments backend"]}}
lists:
  payees: {kind: text, description: " Known. ", entries: [{value: "GB33 bukb-2020 1555", reason: " Ours. ", expires_at: "2099-01-01T01:30:00+01:30"}, {value: "\ufb01ne", reason: R.}, {value: "No \u0663\u2462", reason: R.}]}
  networks: {kind: country, entries: [{value: de, reason: Here.}]}
  watched: {kind: text, personal: true}`,
	"policies": `teams: {finance: {name: F}, leads: {name: L}, incident: {name: I}}
actions:
  payments.transfer:
    name: Send
    consequence: Money leaves.
    labels: {de: {name: Senden, consequence: Geld fließt ab.}, fr-CA: {name: Envoyer, consequence: "L'argent part."}}
    mode: shadow
    risk_class: critical
    resource_type: account
    allowed_audiences: [b, a]
    allowed_callers: [Payments backend]
    proof_ttl_seconds: 60
    context_schema: {type: object, required: [amount], properties: {amount: {type: number, minimum: 1e1, maximum: 1.50e2, multipleOf: 0.010, x-countersign-aggregate: sum}}}
    requirements:
      approval_compensates: [explicit_approval, coverage]
      approvals_required: 2
      break_glass: {group: incident, after_review: {approvals: 1, within_seconds: 3600}}
      challenge_compensates: [human_presence, coverage]
      challenge_methods: [sandbox_confirm, passkey]
      claims: {human_presence: likely}
      coverage_min: none
      deny_on: [continuity_mismatch, freshness_exceeded]
      explicit_approval_required: true
      freshness_max_ms: 60000
      hold_on: [rule_matched]
      hours: all
      insufficient_evidence: hold
      max_challenges: 3
      passkey_aaguids: [ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4]
      repeat_approvers: true
      review: {steps: [{name: team, entries: [{group: finance, approvals: 1, escalate: {after_seconds: 3600, group: leads}}], within_seconds: 7200, on_timeout: expire}, {name: board, entries: [{approvals: 1}]}]}
      self_review: barred
      standing: {by: [review, passkey], max_uses: 40, max_amount: {field: amount, limit: "1000.50"}, max_duration_seconds: 86400, resource: {prefix: acc-}, agent: any}
      rules:
        - {name: large, when: "context.amount  >  10.50 ", requirements: {hold_on: [rule_matched], approval_compensates: [], approvals_required: 1, challenge_compensates: [coverage], challenge_methods: [passkey],
            claims: {human_presence: likely}, coverage_min: sparse, deny_on: [freshness_exceeded], explicit_approval_required: true, freshness_max_ms: 5000, insufficient_evidence: deny, max_challenges: 1,
            review: {steps: [{name: team, entries: [{group: finance}]}]}, self_review: barred}, reason: "Large. "}
        - {name: limit, when: 'subject.sum("amount", "payments.transfer", "allow", "24h") > 1000', reserve: true, requirements: {hold_on: [rule_matched]}, reason: Many.}`,
	"webhooks": `webhook_endpoints:
  - {url: "HTTPS://Hooks.EXAMPLE:443/a/../b?x=%7e", events: [proof.revoked, "hold.*"], description: " Ours "}
  - {url: "https://hooks.example/b", events: ["hold.*"], include_details: false, status: disabled}`,
	"destinations": `destinations:
  collector: {kind: otlp, url: "https://collector.example/v1/logs"}
  siem: {kind: https, url: "https://siem.example/in", encoding: array, header: x-api-key, ca: ROOT}
  syslog: {kind: syslog, url: "tls://logs.example:6514", ca: ""}`,
}

// spelledFile completes a file with what a test makes.
func spelledFile(t *testing.T, dir, text string) string {
	t.Helper()
	picture, err := base64.StdEncoding.DecodeString(logo(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "logo.png"), picture, 0o600))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	require.NoError(t, err)
	quoted, err := json.Marshal("\r\n" + strings.ReplaceAll(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), "\n", "\r\n") + " ")
	require.NoError(t, err)
	return "version: 1\n" + strings.NewReplacer("LOGO", "logo.png", "ROOT", string(quoted)).Replace(text) + "\n"
}

// Whatever the service stores in another spelling than the file's is no difference: a file that was applied is as the environment is, and its export
// as well.
func TestConfigurationFileAppliedTwiceIsNoChange(t *testing.T) {
	t.Parallel()
	for name, text := range spelled {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSandbox(t)
			w.named(t, "Payments backend")
			f := w.byFile(t)
			file := spelledFile(t, f.dir, text)
			f.apply(t, file, false)
			plan, err := f.plan(t, file, false)
			require.NoError(t, err)
			require.Empty(t, plan.Changes, "the same file again")
			exported := f.export(t)
			plan, err = f.plan(t, exported, true)
			require.NoError(t, err)
			require.Empty(t, plan.Changes, "its export")
		})
	}
}

// Every property that a file can have is in one of the files that are applied twice, so that a new one cannot be forgotten there.
func TestEverySettingIsAppliedTwice(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for name, text := range spelled {
		doc, err := configfile.Parse([]byte("version: 1\n" + text + "\n"))
		require.NoError(t, err, name)
		raw, err := json.Marshal(doc)
		require.NoError(t, err)
		var tree any
		require.NoError(t, json.Unmarshal(raw, &tree))
		eachProperty(tree, func(property string) { given[property] = true })
	}
	var walk func(of reflect.Type)
	seen := map[reflect.Type]bool{}
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(of.Elem())
		case reflect.Struct:
			if seen[of] {
				return
			}
			seen[of] = true
			for field := range of.Fields() {
				property, _, named := strings.Cut(field.Tag.Get("json"), ",")
				if property == "" && !named {
					continue // of a type that reads itself
				}
				require.True(t, given[property], "no file in spelled has %s of %s", property, of.Name())
				walk(field.Type)
			}
		default:
		}
	}
	walk(reflect.TypeFor[configfile.Document]())
	require.Greater(t, len(seen), 8)
}

// eachProperty calls f for each name of an object in a document.
func eachProperty(tree any, f func(string)) {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			f(name)
			eachProperty(value, f)
		}
	case []any:
		for _, value := range tree {
			eachProperty(value, f)
		}
	}
}

// A destination keeps what the file leaves out: its start, its encoding, and its credentials unless they were made for another address. One that
// was changed by hand is a difference.
func TestConfigurationFileHasDestinations(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	f := w.byFile(t)
	const path = "/api/v1/destinations/siem"
	const begin = "2020-01-01T00:00:00.000Z"
	w.Admin.do(t, "PUT", path, object{"kind": "https", "url": "https://siem.example/in", "encoding": "array", "since": begin}).is(200)
	w.Admin.do(t, "PUT", path+"/credentials", object{"header": "Bearer 4711"}).is(200)
	for _, file := range []string{"{siem: {}}", "{siem: {kind: https, url: 'https://siem.example/in'}}", "{siem: {header: AUTHORIZATION, ca: ''}}"} {
		require.Empty(t, f.diff(t, "version: 1\ndestinations: "+file+"\n", true), file)
	}
	certificate := spelledFile(t, f.dir, "destinations: {siem: {ca: ROOT}}")
	require.Equal(t, "destinations.siem: changed\n", f.apply(t, certificate, false))
	d := w.Admin.get(t, path).is(200)
	require.Equal(t, []any{"array", begin, true}, []any{d.value("encoding"), d.value("since"), d.value("has_credentials")})
	require.Empty(t, f.diff(t, certificate, true))
	require.Empty(t, f.diff(t, f.export(t), true))

	w.Admin.do(t, "PUT", path, object{"kind": "https", "url": "https://siem.example/in", "encoding": "array"}).is(200)
	require.Contains(t, f.diff(t, certificate, false), "~ destinations.siem\n    ca: \"\" -> ", "a change by hand is seen")

	const moved = "version: 1\ndestinations: {siem: {kind: otlp, url: 'https://collector.example/v1/logs'}}\n"
	require.Contains(t, f.diff(t, moved, false), "destinations.siem: its credentials end")
	f.apply(t, moved, false)
	d = w.Admin.get(t, path).is(200)
	require.Equal(t, []any{"otlp", "protobuf", false}, []any{d.value("kind"), d.value("encoding"), d.value("has_credentials")})

	_, err := f.plan(t, "version: 1\ndestinations: {other: {kind: otlp}}\n", false)
	require.ErrorContains(t, err, "destinations.other does not exist in the environment: to create it, the file needs its kind and url")
	require.Contains(t, f.diff(t, "version: 1\ndestinations: {}\n", false), "destinations.siem is not in the file and kept")
	require.Equal(t, "destinations.siem: removed\n", f.apply(t, "version: 1\ndestinations: {}\n", true))
	require.Empty(t, w.Admin.get(t, "/api/v1/destinations").is(200).list())
}

// Any settings and any policies that the service takes come back from a file as they were.
func TestPropertyConfigurationFilesAreReproduced(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	f := w.byFile(t)
	drawn := rapid.Custom(func(r *rapid.T) string {
		word := rapid.StringMatching(`[a-zA-Z"#:{}&*!%äß]([a-zA-Z0-9 "#:{}&*!%'äß,-]{0,20}[a-z])?`)
		actions := map[string]configfile.Action{}
		for _, key := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,4}\.[a-z]{1,4}`), 0, 2, rapid.ID).Draw(r, "keys") {
			actions[key] = configfile.Action{
				Name: word.Draw(r, "name"), Consequence: word.Draw(r, "consequence"), Mode: rapid.SampledFrom([]string{"test", "shadow", "enforce"}).Draw(r, "mode"),
				RiskClass: "low", ResourceType: "resource", AllowedAudiences: rapid.SliceOfN(word, 1, 2).Draw(r, "audiences"),
				AllowedCallers: []string{}, ProofTTLSeconds: rapid.Int64Range(30, 900).Draw(r, "ttl"), ContextSchema: map[string]any{"title": word.Draw(r, "title")},
				Requirements: &countersign.PolicyRequirements{
					CoverageMin: rapid.SampledFrom([]string{"", "none", "sufficient"}).Draw(r, "coverage"), MaxChallenges: rapid.Int64Range(0, 5).Draw(r, "challenges"),
					ApprovalsRequired: rapid.Int64Range(0, 5).Draw(r, "approvals"), ExplicitApprovalRequired: rapid.Bool().Draw(r, "explicit"),
				},
			}
		}
		doc := configfile.Document{Version: 1, Actions: actions, Environment: &countersign.EnvironmentUpdate{
			RPName: word.Draw(r, "rp_name"), HoldTTLSeconds: rapid.Int64Range(60, 1000).Draw(r, "hold"), BarSelfReview: new(rapid.Bool().Draw(r, "bar")),
			Brand: &countersign.BrandUpdate{Name: new(word.Draw(r, "brand"))},
		}, WebhookEndpoints: []countersign.WebhookEndpointUpdate{}}
		for _, at := range rapid.SliceOfN(rapid.StringMatching(`https://hooks\.example/[ab]`), 0, 3).Draw(r, "urls") {
			doc.WebhookEndpoints = append(doc.WebhookEndpoints, countersign.WebhookEndpointUpdate{URL: at, Events: []string{"hold.*"}, Description: new(word.Draw(r, "description")),
				IncludeDetails: new(rapid.Bool().Draw(r, "details")), Status: rapid.SampledFrom([]string{"enabled", "disabled"}).Draw(r, "status")})
		}
		text, err := doc.YAML()
		require.NoError(r, err)
		return string(text)
	})
	for seed := range 8 {
		file := drawn.Example(seed)
		f.apply(t, file, true)
		require.Empty(t, f.diff(t, file, true))
		exported := f.export(t)
		require.Empty(t, f.diff(t, exported, true))
		f.apply(t, "version: 1\nactions: {}\nwebhook_endpoints: []\n", true)
		f.apply(t, exported, true)
		require.Equal(t, exported, f.export(t), "emptied and made again: %s", file)
	}
}

// TestConfigurationAsCodePage runs every command of docs/configuration-as-code.md.
func TestConfigurationAsCodePage(t *testing.T) {
	t.Parallel()
	made := newTenant(t)
	work := developerFolder(t, made.Sandbox, made.Live)
	buildService(t, filepath.Join(work, "bin"))
	script := codeBlocks(t, "../docs/configuration-as-code.md", "sh") + `
list() { countersign list "$@"; }
list create seen_devices --personal --description 'Seen before.'
list add seen_devices device-1 --reason 'Seen.' --expires 2099-01-01T00:00:00Z
list entries seen_devices --value 'DEVICE - 1' || exit 1
list remove seen_devices --id "$(list entries seen_devices | grep -o 'lse_[a-z0-9]*')"
printf 'value,reason\nKP,Again.\nGermany,\nFR,\n' > wrong.csv
list import blocked_countries wrong.csv && exit 1
list remove blocked_countries kp
list show blocked_countries
list delete seen_devices`
	output := runShell(t, work, script, "COUNTERSIGN_BASE_URL=", "COUNTERSIGN_KEY=")
	for _, want := range []string{
		"+ actions.payments.transfer\n", "actions.payments.transfer: mode enforce\n", "\nas the file says\n",
		`requirements.rules[large_payment].when: "context.amount > 10000" -> "context.amount > 5000"`,
		"simulation of draft version 2: 0 of the newest 0 decisions would change\n", "policy version 2 is active\n", "\nlive is as the file says\n",
		"blocked_countries: version 2, 2 entries\n", "KP,Sanctions.,", "      - value: KP\n",
		"seen_devices: version 2, 1 entries\n", "(digest)", "2099-01-01T00:00:00.000Z", "seen_devices: version 3, 0 entries\n", "seen_devices is deleted\n",
		"line 3: value must be a country", "line 4: reason must have", "nothing was imported", "blocked_countries: version 3, 1 entries\n",
	} {
		require.Contains(t, output, want)
	}
}
