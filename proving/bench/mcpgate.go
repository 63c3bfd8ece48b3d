package bench

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// mcpGateAdds bounds what the MCP gateway may add at the median to the bare server and its two calls, in milliseconds.
const mcpGateAdds = 2.0

// mcpGated compares a call through the MCP gateway with one of the bare server that is preceded by the two calls that the gateway makes.
func mcpGated(ctx context.Context, b *bench) error {
	if err := harness.NewAction(ctx, b.sdk, "payment.release", countersign.PolicyRequirements{CoverageMin: "none"}); err != nil {
		return err
	}
	person, err := b.sdk.CreateSubject(ctx, nil)
	if err != nil {
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(bareMCP))
	defer server.Close()
	gate, token, err := b.startMCPGate(ctx, server.URL, person.ID)
	if err != nil {
		return err
	}
	defer func() { _ = gate.Stop() }()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	var calls atomic.Int64
	bare := func(ctx context.Context, _ int) error {
		if err := b.twoCalls(ctx, person.ID); err != nil {
			return err
		}
		return callTool(ctx, client, server.URL, token, calls.Add(1))
	}
	through := func(ctx context.Context, _ int) error {
		return callTool(ctx, client, gate.URL+"/bank", token, calls.Add(1))
	}
	for _, warm := range []loadgen.Work{bare, through} {
		if r := loadgen.Closed(ctx, 4, 2*time.Second, warm); r.Failed > 0 {
			return fmt.Errorf("%d of %d calls failed: %v", r.Failed, r.Failed+r.Done(), r.Why)
		}
	}
	load := openLoad(ctx, gateRate)
	turns := b.turns(ctx, "mcpgate", load.how, []side{load.side("bare server and two calls", bare), load.side("MCP gateway, allow", through)})
	b.report.under("MCP gateway on allow: added at p50, "+load.how, addedByGate(turns), mcpGateAdds, "ms")
	return nil
}

// bareMCP is a server of the revision 2026-07-28 with one tool.
func bareMCP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	result := map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/list":      `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[{"name":"pay","description":"Pays.","inputSchema":{"type":"object"}}]}`,
		"tools/call":      `{"resultType":"complete","content":[{"type":"text","text":"paid"}]}`,
	}[m.Method]
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// callTool calls the tool with arguments that no other call has.
func callTool(ctx context.Context, client *http.Client, address, token string, n int64) error {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"number":%d},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, n)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "pay"} {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err == nil && !bytes.Contains(text, []byte(`"paid"`)) {
		err = fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return err
}

// startMCPGate starts the gateway on one core, and returns a token for the person.
func (b *bench) startMCPGate(ctx context.Context, server, person string) (*harness.Service, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, "", err
	}
	keys, token, err := tokenOf(person)
	if err != nil {
		return nil, "", err
	}
	text := fmt.Sprintf(`service: {url: %q, key: {env: GATE_KEY}}
state: {keys: [{env: GATE_STATE}]}
identity: {jwt: {issuer: "https://idp.example", audience: app, algorithms: [ES256], type: at+jwt, jwks_file: keys.json}}
listen: {http: {address: %q}, url: "http://%s"}
servers:
- name: bank
  upstream: {url: %q}
  tools: [{name: pay, action: payment.release, audience: %s, resource: {type: resource, id: "'4711'"}}]
`, b.rig.API.URL, address, address, server, harness.Audience)
	file := filepath.Join(b.Rig.Dir, "mcp.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(filepath.Join(b.Rig.Dir, "keys.json"), keys, 0o600); err != nil {
		return nil, "", err
	}
	env := []string{"GATE_KEY=" + b.tenant.Server, "GATE_STATE=" + rand.Text() + rand.Text(), "GOMAXPROCS=1"}
	accept := exec.CommandContext(ctx, b.Gate, "mcp", "accept", "--config", file) // #nosec G204 -- the benchmark's own binary
	accept.Env = append(os.Environ(), env...)
	if output, err := accept.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("%w: %s", err, output)
	}
	gate, err := b.rig.Gate(b.Gate, []string{"mcp", "--config", file}, "http://"+address, env)
	if err != nil {
		return nil, "", err
	}
	return gate, token, gate.Start(ctx)
}

// tokenOf returns a token for a person, and the key set of its issuer.
func tokenOf(person string) (keys []byte, token string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	point, err := key.PublicKey.Bytes() // 4, x and y
	if err != nil {
		return nil, "", err
	}
	keys = fmt.Appendf(nil, `{"keys":[{"kty":"EC","crv":"P-256","kid":"1","alg":"ES256","use":"sig","x":%q,"y":%q}]}`, encode(point[1:33]), encode(point[33:]))
	signed := encode([]byte(`{"alg":"ES256","kid":"1","typ":"at+jwt"}`)) + "." +
		encode(fmt.Appendf(nil, `{"iss":"https://idp.example","aud":"app","sub":%q,"client_id":"bench","exp":%d}`, person, time.Now().Add(24*time.Hour).Unix()))
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return nil, "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return keys, signed + "." + encode(signature), nil
}
