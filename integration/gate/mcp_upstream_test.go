package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/gatetest"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// TestMCPUpstreamTokens sends the gateway's own token, or one that was exchanged for the client's (RFC 8693), and never the client's.
func TestMCPUpstreamTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := &till{world: w, bank: &bank{}, issuer: gatetest.StartIssuer(t), subject: w.subject(t), client: "http", version: modern}
	var mu sync.Mutex
	var seen []string
	server := l.bank.server("Moves money.", all)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Get("Authorization"))
		mu.Unlock()
		r.Header.Del("Authorization")
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	var exchanged []string
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if id != "gateway" || secret != "client-secret" || r.FormValue("audience") != "bank" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mu.Lock()
		exchanged = append(exchanged, r.FormValue("subject_token"))
		mu.Unlock()
		_, _ = w.Write([]byte(`{"access_token":"upstream-token","token_type":"Bearer","expires_in":300}`))
	}))
	t.Cleanup(tokens.Close)
	action := w.action(t, "enforce", allowing)
	tools := "\n  tools:\n" + l.tool(t, "allow", action, "3m")
	l.gateway = gatetest.NewMCP(t, gatetest.MCPConfig{ServiceURL: shared.url, Key: w.gate, Issuer: l.issuer, Subject: l.subject, Env: []string{"BEARER=own-token", "SECRET=client-secret"}, Servers: fmt.Sprintf(`- name: bank
  upstream: {url: %q, bearer: {env: BEARER}}%s- name: exchange
  upstream: {url: %q, exchange: {url: %q, client_id: gateway, client_secret: {env: SECRET}, audience: bank}}%s`, upstream.URL, tools, upstream.URL, tokens.URL, tools)})
	l.gateway.Serve(t)
	token := l.token(t, l.subject)
	body, headers := modernCall("allow", payment, "{}", "")
	seen = nil
	require.Equal(t, "sent 10 to Eve", l.post(t, token, body, headers).text())
	for _, s := range seen {
		require.Equal(t, "Bearer own-token", s)
	}
	seen, exchanged = nil, nil
	for range 2 {
		require.Equal(t, "sent 10 to Eve", l.postTo(t, "exchange", token, body, headers).text())
	}
	require.NotEmpty(t, seen)
	for _, s := range seen {
		require.Equal(t, "Bearer upstream-token", s)
	}
	require.Equal(t, []string{token}, exchanged, "exchanged once")
}

// TestMCPCancelledCall cancels a call that waits. The approval that comes later carries nothing out until the call is made again.
func TestMCPCancelledCall(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"http-http", "stdio-program"} {
		for _, version := range []string{"2025-11-25", modern} {
			t.Run(way+" "+version, func(t *testing.T) {
				t.Parallel()
				l := openTill(t, way, version)
				s := l.connect(t, nil)
				ctx, cancel := context.WithCancel(t.Context())
				var held string
				go func() {
					held = l.waits(t)
					cancel()
				}()
				_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "hold", Arguments: transfer{"Eve", 10}})
				require.Error(t, err)
				_, err = s.ListTools(t.Context(), nil)
				require.NoError(t, err)
				_, err = l.ReviewAuthorization(t.Context(), held, countersign.ManualReviewRequest{Resolution: "approve"})
				require.NoError(t, err, "a client that disconnects ends no hold")
				require.Never(t, func() bool { return len(l.bank.take(t)) > 0 }, 3*time.Second, 500*time.Millisecond)
				r, err := callTool(t, s, "hold", 10)
				require.NoError(t, err)
				require.Equal(t, "sent 10 to Eve", textOf(r))
				require.Len(t, l.bank.take(t), 1)
				require.Len(t, l.authorizations(t), 1)
			})
		}
	}
}

// TestMCPDeclinedCall declines at the client, which ends the challenge.
func TestMCPDeclinedCall(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", modern} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := openTill(t, "http-http", version)
			s := l.connect(t, func(string) string { return "decline" })
			r, err := callTool(t, s, "challenge", 10)
			require.NoError(t, err)
			require.True(t, r.IsError)
			require.Empty(t, l.bank.take(t))
			z, err := l.GetAuthorization(t.Context(), l.authorizations(t)[0].ID)
			require.NoError(t, err)
			require.Equal(t, "cancelled", z.Challenge.Status)
		})
	}
}

// openAsking opens a bank that knows no sessions, and asks the client for input in the course of a call.
func openAsking(t *testing.T) *till {
	t.Helper()
	w := newWorld(t)
	l := &till{world: w, bank: &bank{}, issuer: gatetest.StartIssuer(t), subject: w.subject(t), client: "http", version: modern}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				State     string          `json:"requestState"`
				Responses json.RawMessage `json:"inputResponses"`
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		result := `{"resultType":"input_required","requestState":"server-state","inputRequests":{"countersign":{"method":"elicitation/create","params":{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{}}}}}}`
		switch {
		case m.Method == "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		case m.Method == "tools/list":
			result = `{"resultType":"complete","tools":[{"name":"challenge","inputSchema":{"type":"object"}}]}`
		case m.Params.State == "server-state":
			l.bank.record("input", string(m.Params.Responses))
			result = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(upstream.Close)
	l.gateway = gatetest.NewMCP(t, gatetest.MCPConfig{ServiceURL: shared.url, Key: w.gate, Issuer: l.issuer, Subject: l.subject,
		Servers: fmt.Sprintf("- name: bank\n  upstream: {url: %q}\n  tools:\n%s", upstream.URL, l.tool(t, "challenge", w.action(t, "enforce", challenging), "3m"))})
	l.gateway.Serve(t)
	return l
}

// TestMCPServerAsksForInput lets a server ask the client for input in the course of a call. Each call that reaches the server has its own proof,
// which covers the input.
func TestMCPServerAsksForInput(t *testing.T) {
	t.Parallel()
	l := openAsking(t)
	token := l.token(t, l.subject)
	send := func(state, responses string) reply {
		more := ""
		if state != "" {
			more = fmt.Sprintf(`,"requestState":%q,"inputResponses":%s`, state, responses)
		}
		body, headers := modernCall("challenge", payment, `{"elicitation":{"url":{},"form":{}}}`, more)
		return l.post(t, token, body, headers)
	}
	confirm := func(asked reply) string {
		require.Equal(t, "input_required", asked.Result.Type, asked.text())
		for _, z := range l.authorizations(t) {
			if z.Challenge != nil && z.Challenge.Status == "open" {
				_, err := l.CompleteChallenge(t.Context(), z.Challenge.ID, countersign.ChallengeCompleteRequest{Method: "sandbox_confirm"})
				require.NoError(t, err)
			}
		}
		return asked.Result.State
	}
	accept, input := `{"countersign":{"action":"accept"}}`, `{"countersign":{"action":"accept","content":{"name":"Ann"}}}`
	asked := send(confirm(send("", "")), accept)
	require.Equal(t, "input_required", asked.Result.Type, "the server's own question")
	require.NotContains(t, asked.Result.State, "server-state")
	require.NotNil(t, send("server-state", input).Error, "the server's state is of one call too")
	again := send(asked.Result.State, input)
	require.Empty(t, l.bank.take(t), "the input needs a proof too")
	require.Equal(t, "done", send(confirm(again), accept).text())
	require.Equal(t, []string{`input "` + strings.ReplaceAll(input, `"`, `\"`) + `"`}, l.bank.take(t))
	require.Len(t, l.authorizations(t), 2)
}

// TestMCPServerAsksClientOfASession lets the same server ask an official client of the revision 2025-11-25: both calls that reach it have a proof.
func TestMCPServerAsksClientOfASession(t *testing.T) {
	t.Parallel()
	l := openAsking(t)
	options := l.opening(l.confirm(t))
	opens := options.ElicitationHandler
	options.Capabilities.Elicitation.Form = &mcp.FormElicitationCapabilities{}
	options.ElicitationHandler = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		if r.Params.Mode == "url" {
			return opens(ctx, r)
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
	}
	transport := &mcp.StreamableClientTransport{Endpoint: l.gateway.URL + "/bank", HTTPClient: &http.Client{Transport: bearer{l.token(t, l.subject)}}}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, options).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: legacy})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	r, err := callTool(t, s, "challenge", 10)
	require.NoError(t, err)
	require.Equal(t, "done", textOf(r))
	runs := l.bank.take(t)
	require.Len(t, runs, 1, "with the input")
	require.Contains(t, runs[0], "Ann")
	page, err := l.ListAuthorizations(t.Context(), countersign.ListAuthorizationsParams{Subject: l.subject, Limit: 100})
	require.NoError(t, err)
	consumed := map[string]bool{}
	for _, z := range page.Items {
		if z.Proof != nil && z.Proof.Status == "consumed" {
			consumed[z.ContextDigest] = true
		}
	}
	require.Len(t, consumed, 2, "the input is covered")
}
