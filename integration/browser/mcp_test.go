package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/apitest"
	"github.com/countersign-dev/countersign/integration/gatetest"
	"github.com/countersign-dev/countersign/models"
)

// agent is an official client whose tokens are those of a person.
type agent struct {
	issuer  *gatetest.Issuer
	gateway *gatetest.MCP
	subject string
	token   string
	paid    atomic.Int64 // calls that reached the server
}

// newAgent puts the gateway in front of a server with one tool, which knows nothing of Countersign.
func newAgent(t *testing.T, w world, subject, action, wait string) *agent {
	t.Helper()
	a := &agent{issuer: gatetest.StartIssuer(t), subject: subject}
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay", Description: "Pays."}, func(context.Context, *mcp.CallToolRequest, struct {
		Payee string `json:"payee"`
	}) (*mcp.CallToolResult, any, error) {
		a.paid.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil, nil
	})
	upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(upstream.CloseClientConnections)
	t.Cleanup(upstream.Close)
	a.gateway = gatetest.NewMCP(t, gatetest.MCPConfig{ServiceURL: shared.baseURL, Key: w.key, Issuer: a.issuer, Subject: subject, Servers: fmt.Sprintf(`- name: bank
  upstream: {url: %q}
  tools:
  - {name: pay, action: %s, audience: %s, resource: {type: resource, id: call.arguments.payee}, wait: %s}
`, upstream.URL, action, apitest.Audience, wait)})
	a.gateway.Serve(t)
	return a
}

// RoundTrip adds the token.
func (a *agent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.token)
	return http.DefaultTransport.RoundTrip(r)
}

// pay connects a client, calls the tool, and returns the text of the result. Opened opens the pages that the client is asked to open.
func (a *agent) pay(t *testing.T, opened func(link string)) string {
	t.Helper()
	a.token = a.issuer.Token(t, a.subject, map[string]any{"client_id": "shopper"})
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			opened(r.Params.URL)
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: a.gateway.URL + "/bank", HTTPClient: &http.Client{Transport: a}}, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay", Arguments: map[string]any{"payee": "eve"}})
	require.NoError(t, err)
	return r.Content[0].(*mcp.TextContent).Text
}

// An agent calls a tool. The person confirms with their passkey on the page that the client opens, and the tool runs once.
func TestStepUpThroughTheMCPGateway(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	b, _, subject := registered(t, w)
	a := newAgent(t, w, subject, w.action(t, "enforce", "Pay a bill", "Money leaves the account.", object{"coverage_min": "none", "explicit_approval_required": true}), "3m")
	text := a.pay(t, func(link string) {
		b.open(link)
		b.see("waiting for your confirmation at Alder Bank")
		b.click("[data-passkey]")
		b.see("Pay a bill")
		require.Zero(t, a.paid.Load(), "nothing before the confirmation")
		b.click("[data-passkey]")
		b.seeEnding("You confirmed the request of Alder Bank")
	})
	require.Equal(t, "paid", text)
	require.EqualValues(t, 1, a.paid.Load())
}

// A hold is approved in the console while the client is disconnected and the gateway is killed. The same call then finds the approval.
func TestHoldIsApprovedWhileTheMCPGatewayIsKilled(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	a := newAgent(t, w, subject, w.payments(t, holding), "0s")
	require.Contains(t, a.pay(t, nil), "waits for the approval")
	a.gateway.Stop()

	page := w.get(t, "/api/v1/authorizations?subject="+subject).is(200)
	var held []struct{ ID string }
	require.NoError(t, json.Unmarshal(page.body, &held))
	require.Len(t, held, 1)
	id := held[0].ID
	b := newTab(t)
	b.enter(w, "Ann Reviewer", models.RoleReviewer)
	b.open(w.console("reviews", id))
	b.waitForStream()
	b.review("[data-approve]", "Approved: allowed, proof issued.")

	require.Zero(t, a.paid.Load())
	a.gateway.Serve(t)
	require.Equal(t, "paid", a.pay(t, nil))
	require.EqualValues(t, 1, a.paid.Load())
}
