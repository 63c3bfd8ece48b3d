package integration_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scripts is the folder of the programs that verify the service's passkey ceremonies independently of it.
var scripts = filepath.Join("testdata", "simplewebauthn")

// ceremony is a passkey and a challenge that it signed, with all that a relying party saw of both.
type ceremony struct {
	Origin       string          `json:"origin"`
	RPID         string          `json:"rp_id"`
	Creation     any             `json:"creation"`
	Registration any             `json:"registration"`
	View         map[string]any  `json:"view"`
	Options      map[string]any  `json:"options"`
	Assertion    json.RawMessage `json:"assertion"`
}

// newCeremony signs a challenge about a payment whose details are shown.
func newCeremony(t *testing.T) ceremony {
	t.Helper()
	w := newSandbox(t)
	action := w.showing(t, with(challenging, object{"challenge_methods": []string{"passkey"}}))
	subject := w.subject(t)
	d := w.device(t, subject)
	path := "/api/v1/challenges/" + w.Server.post(t, "/api/v1/authorize", payment(subject, action)).is(200).string("challenge.id")
	options := w.Server.post(t, path+"/passkey/options", nil).is(200)
	return ceremony{
		Origin: d.rp.Origin, RPID: d.rp.ID, Creation: d.creation, Registration: d.registration["credential"],
		View: decoded(t, w.Server.get(t, path).is(200).body), Options: decoded(t, options.body), Assertion: d.assertion(t, options.body),
	}
}

func decoded(t *testing.T, body []byte) (out map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(body, &out))
	return out
}

// node runs one of the scripts with the ceremony on its standard input and returns what it prints.
func (c ceremony) node(t *testing.T, script string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node is not installed")
	}
	input, err := json.Marshal(c)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", script)
	cmd.Dir, cmd.Stdin = scripts, bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The script of docs/passkeys.md computes what the passkey signs from what the user is shown.
func TestDocumentedScriptRecomputesWhatThePasskeySigns(t *testing.T) {
	t.Parallel()
	c := newCeremony(t)
	out, err := c.node(t, "recomputed.mjs")
	require.NoError(t, err, out)
	var got struct{ DisplayDigest, Challenge string }
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	binding := c.Options["binding"].(map[string]any)
	require.Equal(t, binding["display_digest"], got.DisplayDigest)
	require.Equal(t, binding["challenge"], c.View["id"])
	require.Equal(t, c.Options["publicKey"].(map[string]any)["challenge"], got.Challenge)

	page, err := os.ReadFile("../docs/passkeys.md")
	require.NoError(t, err)
	script, err := os.ReadFile(filepath.Join(scripts, "recompute.mjs"))
	require.NoError(t, err)
	require.Contains(t, string(page), "```js\n"+string(script)+"```\n", "the page quotes the script")
}

// The npm package @simplewebauthn/server verifies the service's ceremonies, and refuses an assertion about anything else than what
// was shown. The test requires `npm ci` in testdata/simplewebauthn.
func TestSimpleWebAuthnPackageVerifiesAssertions(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(scripts, "node_modules", "@simplewebauthn", "server")); err != nil {
		t.Skip("npm ci has not been run in integration/" + scripts)
	}
	signed := newCeremony(t)
	out, err := signed.node(t, "verify.mjs")
	require.NoError(t, err, out)
	for name, c := range map[string]struct {
		change  func(c *ceremony)
		refusal string
	}{
		"a different cent": {func(c *ceremony) { c.detail(0)["value"] = "1,250.51 EUR" }, "details_digest is not the digest"},
		"a different cent with its digest": {func(c *ceremony) {
			c.detail(0)["value"] = "1,250.51 EUR"
			c.display()["details_digest"] = canonicalDigest(t, c.display()["details"])
		}, "Unexpected authentication response challenge"},
		"a different consequence": {func(c *ceremony) { c.display()["consequence"] = "Nothing happens." }, "Unexpected authentication response challenge"},
		"a different action": {func(c *ceremony) {
			c.Options["binding"].(map[string]any)["action_hash"] = "sha256:" + strings.Repeat("0", 64)
		}, "Unexpected authentication response challenge"},
		"a different challenge": {func(c *ceremony) { c.View["id"] = "chl_01k9x3v7q2e4rtb8m5n6p0d1fz" }, "Unexpected authentication response challenge"},
		"a different site":      {func(c *ceremony) { c.Origin = "http://localhost:9999" }, "Unexpected registration response origin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := signed.copy(t)
			c.change(&changed)
			out, err := changed.node(t, "verify.mjs")
			require.Error(t, err)
			require.Contains(t, out, c.refusal)
		})
	}
}

func (c ceremony) display() map[string]any { return c.View["display"].(map[string]any) }

func (c ceremony) detail(i int) map[string]any {
	return c.display()["details"].([]any)[i].(map[string]any)
}

// copy returns a copy that shares nothing with c.
func (c ceremony) copy(t *testing.T) (out ceremony) {
	t.Helper()
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}
