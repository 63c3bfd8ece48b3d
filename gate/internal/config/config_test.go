package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/gate/internal/config"
)

const head = `service: {url: "https://countersign.example", key: {file: key}}
state: {keys: [{file: state}]}
identity:
  jwt: {issuer: "https://idp.example", audience: app, algorithms: [ES256], type: at+jwt, jwks: "https://idp.example/jwks"}
listen: {inline: {address: ":8080"}}
routes:
`

const good = `- name: release
  hosts: [app.example]
  methods: [POST]
  path: /payments/{id}/release
  upstream: http://127.0.0.1:3000
  action: payments.release
  audience: payments
  resource: {type: payment, id: request.params.id}
  context: {amount: request.body.amount}
- {name: assets, hosts: [app.example], path: "/assets/{rest...}", upstream: "http://127.0.0.1:3000", open: true}
`

func load(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"gate.yaml": text, "key": "sk_test_x\n", "state": strings.Repeat("k", 40), "short": "short"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	return config.Load(filepath.Join(folder, "gate.yaml"))
}

func TestLoad(t *testing.T) {
	t.Parallel()
	c, err := load(t, head+good)
	require.NoError(t, err)
	require.Equal(t, "sk_test_x", c.ServiceKey)
	require.True(t, c.Routes[0].Mapping.Reads.Body)
	require.True(t, c.Routes[1].Place.Open)
}

func TestFaultsNameTheirLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"not YAML":            {head + "- name: [", ":7:"},
		"unknown name":        {strings.Replace(head+good, "  context:", "  contexts:", 1), ":15: routes.0.contexts is not known here"},
		"name twice":          {head + good + "- {name: x, name: y, hosts: [a], path: /, open: true}\n", ":17: name is there twice"},
		"missing":             {strings.Replace(head+good, "  action: payments.release\n", "", 1), ":7: routes.0: missing property 'action'"},
		"bad CEL":             {strings.Replace(head+good, "request.body.amount", "request.body.amount +", 1), ":15: the route release: context.amount: ERROR"},
		"unknown parameter":   {strings.Replace(head+good, "request.params.id", "request.params.no", 1), ":7: the route release reads request.params.no"},
		"dynamic read":        {strings.Replace(head+good, "request.body.amount", "'request.query[request.path]'", 1), ":15: the route release: context.amount: request.query must be followed"},
		"same route":          {head + good + "- {name: again, hosts: [app.example], methods: [POST], path: \"/payments/{x}/release\", upstream: \"http://a\", open: true}\n", ":17: the routes again and release (line 7) match the same requests"},
		"same name":           {head + good + "- {name: assets, hosts: [app.example], path: /x, upstream: \"http://a\", open: true}\n", ":17: the route assets is there twice"},
		"open with an action": {head + good + "- {name: x, hosts: [a], path: /x, upstream: \"http://a\", open: true, action: a.b}\n", ":17: routes.2.action: is not allowed together with open: true"},
		"no upstream":         {strings.Replace(head+good, "  upstream: http://127.0.0.1:3000\n", "", 1), ":7: the route release needs an upstream"},
		"upstream with path":  {strings.Replace(head+good, "upstream: http://127.0.0.1:3000\n", "upstream: http://127.0.0.1:3000/api\n", 1), ":11: upstream must be"},
		"body and forward":    {strings.Replace(head+good, `{inline: {address: ":8080"}}`, `{forward_auth: {address: ":8080"}}`, 1), ":7: the route release reads the body"},
		"short key":           {strings.Replace(head+good, "file: state", "file: short", 1), ":2: state.keys.0 must have at least 32 bytes"},
		"no file":             {strings.Replace(head+good, "file: key", "file: none", 1), ":1: service.key"},
		"no identity":         {strings.Replace(head+good, head[strings.Index(head, "identity"):strings.Index(head, "listen")], "", 1), ":5: the route release: a guarded route needs identity"},
		"algorithm none":      {strings.Replace(head+good, "ES256", "none", 1), ":4: identity.jwt.algorithms.0"},
		"host with port":      {strings.Replace(head+good, "[app.example]", `["app.example:443"]`, 1), ":8: \"app.example:443\" must be the name of a host"},
		"dead login":          {strings.Replace(head+good, "  context:", "  login: {max_age: 5m}\n  context:", 1), ":15: the route release has login, and its mapping reads none"},
		"bad template":        {strings.Replace(head+good, "/payments/{id}/release", "/payments/{id}x", 1), ":10: the path"},
		"alias":               {head + good + "- &a {name: x, hosts: [a], path: /x, upstream: \"http://a\", open: true}\n- *a\n", ":18: anchors and aliases"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, c.text)
			require.ErrorContains(t, err, "gate.yaml"+c.want)
		})
	}
}
