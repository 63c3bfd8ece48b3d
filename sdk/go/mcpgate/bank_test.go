package mcpgate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/mcpgate"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// A running service, a replica of it whose clock is ahead by more than the life of a challenge, and two sandbox keys: an admin's
// and a reviewer's. The service's own tests set them; without them these tests are skipped.
const (
	urlEnv      = "COUNTERSIGN_URL"
	aheadEnv    = "COUNTERSIGN_AHEAD_URL"
	keyEnv      = "COUNTERSIGN_KEY"
	reviewerEnv = "COUNTERSIGN_REVIEWER_KEY"
)

// The versions of the protocol: one in which a call asks for input, and one in which the server does.
var versions = []string{latest, "2025-11-25"}

const latest = "2026-07-28"

type transfer struct {
	Payee  string  `json:"payee"`
	Amount float64 `json:"amount"`
	Memo   string  `json:"memo,omitempty"`
}

type receipt struct {
	Moved float64 `json:"moved"`
}

// bank is an MCP server with a guarded tool, the service that guards it and its users, who are the bearers of their names.
type bank struct {
	t        *testing.T
	service  *countersign.Client
	reviewer *countersign.Client
	gate     *mcpgate.Gate
	action   string
	actionID string
	people   map[string]string // name to subject
	ahead    atomic.Bool       // requests go to the replica that is ahead
	ran      atomic.Int64
	base     map[string]string // version of the protocol to address
}

func open(t *testing.T, requirements countersign.PolicyRequirements) *bank {
	t.Helper()
	base, key := os.Getenv(urlEnv), os.Getenv(keyEnv)
	if base == "" || key == "" {
		t.Skipf("%s and %s name no running service", urlEnv, keyEnv)
	}
	b := &bank{t: t, people: map[string]string{}}
	var err error
	b.service, err = countersign.New(base, key, countersign.WithHTTPClient(&http.Client{Transport: b}))
	require.NoError(t, err)
	b.reviewer, err = countersign.New(base, os.Getenv(reviewerEnv))
	require.NoError(t, err)
	me, err := b.service.GetCredential(t.Context())
	require.NoError(t, err)
	b.gate = &mcpgate.Gate{
		Client: b.service, Poll: 20 * time.Millisecond,
		Verifier: &proof.Verifier{Keys: proof.NewRemote(base, nil), Issuer: me.ProofIssuer, Environment: me.Environment, Audience: "bank.example"},
	}
	b.enforce(requirements)
	for _, name := range []string{"alice", "bob"} {
		person, err := b.service.CreateSubject(t.Context(), nil)
		require.NoError(t, err)
		b.people[name] = person.ID
	}
	b.serve()
	return b
}

// RoundTrip sends a request to the replica that is ahead while ahead is set.
func (b *bank) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.ahead.Load() {
		target, err := url.Parse(os.Getenv(aheadEnv))
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.URL.Host, r.Host = target.Host, target.Host
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (b *bank) enforce(requirements countersign.PolicyRequirements) {
	shown := func(label, format string) map[string]any {
		return map[string]any{"label": label, "format": format}
	}
	made, err := b.service.CreateAction(b.t.Context(), countersign.ActionCreate{
		Key: fmt.Sprintf("mcp.t%d", time.Now().UnixNano()), Name: "Send a transfer", Consequence: "Money leaves.", ResourceType: "account",
		AllowedAudiences: []string{"bank.example"}, ContextSchema: map[string]any{
			"type": "object", "required": []string{"agent", "tool", "arguments_digest"}, "properties": map[string]any{
				"agent": map[string]any{"type": "string", "x-countersign-display": shown("Agent", "text")},
				"arguments": map[string]any{"type": "object", "properties": map[string]any{
					"amount": map[string]any{"type": "number", "x-countersign-display": shown("Amount", "number")},
					"payee":  map[string]any{"type": "string", "x-countersign-display": shown("Payee", "text")},
				}},
			},
		},
	})
	require.NoError(b.t, err)
	b.action, b.actionID = made.Key, made.ID
	version, err := b.service.CreatePolicyVersion(b.t.Context(), made.ID, countersign.PolicyVersionCreate{Requirements: requirements})
	require.NoError(b.t, err)
	_, err = b.service.ActivatePolicyVersion(b.t.Context(), made.ID, version.Version)
	require.NoError(b.t, err)
	b.mode(countersign.ModeEnforce)
}

func (b *bank) mode(mode countersign.Mode) {
	_, err := b.service.UpdateAction(b.t.Context(), b.actionID, countersign.ActionUpdate{Mode: string(mode)})
	require.NoError(b.t, err)
}

func (b *bank) serve() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	describe := func(_ context.Context, req *mcp.CallToolRequest, in transfer) (mcpgate.Call, error) {
		if in.Amount <= 0 {
			return mcpgate.Call{}, errors.New("amount must be positive")
		}
		return mcpgate.Call{
			Action: b.action, Subject: b.people[req.Extra.TokenInfo.UserID], Agent: "shopping-agent", ResourceType: "account", ResourceID: "acc-1",
			Show: []string{"amount", "payee"},
		}, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "transfer"}, mcpgate.Tool(b.gate, describe,
		func(_ context.Context, _ *mcp.CallToolRequest, in transfer) (*mcp.CallToolResult, receipt, error) {
			b.ran.Add(1)
			return nil, receipt{Moved: in.Amount}, nil
		}))
	known := auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if b.people[token] == "" {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)
	b.base = map[string]string{}
	for i, version := range versions {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: i == 0})
		served := httptest.NewServer(known(handler))
		b.t.Cleanup(served.Close)
		b.base[version] = served.URL
	}
}

// bearer adds a person's token to the requests of a client.
type bearer string

func (token bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// user acts on the page of a challenge and returns the action that the client responds with.
type user func(b *bank, link string, challenge string) string

func confirms(b *bank, _, challenge string) string {
	_, err := b.service.CompleteChallenge(b.t.Context(), challenge, countersign.ChallengeCompleteRequest{Method: "sandbox_confirm"})
	require.NoError(b.t, err)
	return "accept"
}

func declines(*bank, string, string) string { return "decline" }

// session connects the official client of a person. A nil user has a client that opens no pages.
func (b *bank) session(name, version string, u user, manual bool) *mcp.ClientSession {
	b.t.Helper()
	options := &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: manual}, Capabilities: &mcp.ClientCapabilities{}}
	if u != nil {
		options.Capabilities.Elicitation = &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}
		options.ElicitationHandler = func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if req.Params.Mode != "url" {
				return nil, fmt.Errorf("mode %s", req.Params.Mode)
			}
			return &mcp.ElicitResult{Action: u(b, req.Params.URL, req.Params.ElicitationID)}, nil
		}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, options)
	s, err := client.Connect(b.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: b.base[version], HTTPClient: &http.Client{Transport: bearer(name)},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(b.t, err)
	require.Equal(b.t, version, s.InitializeResult().ProtocolVersion)
	b.t.Cleanup(func() { _ = s.Close() })
	return s
}

var tenToEve = map[string]any{"payee": "eve", "amount": 10}

func (b *bank) call(s *mcp.ClientSession, params mcp.CallToolParams) *mcp.CallToolResult {
	b.t.Helper()
	params.Name = "transfer"
	if params.Arguments == nil {
		params.Arguments = tenToEve
	}
	res, err := s.CallTool(b.t.Context(), &params)
	require.NoError(b.t, err)
	return res
}

// refused requires that the tool did not run, and returns the text that the agent reads.
func (b *bank) refused(res *mcp.CallToolResult) string {
	b.t.Helper()
	require.True(b.t, res.IsError)
	text, ok := res.Content[0].(*mcp.TextContent)
	require.True(b.t, ok)
	raw, err := json.Marshal(res)
	require.NoError(b.t, err)
	require.NotContains(b.t, string(raw), "/challenge/", "the agent must not see the person's link")
	return text.Text
}

func (b *bank) moved(res *mcp.CallToolResult) {
	b.t.Helper()
	require.False(b.t, res.IsError, "%v", res.Content)
	raw, err := json.Marshal(res.StructuredContent)
	require.NoError(b.t, err)
	require.JSONEq(b.t, `{"moved": 10}`, string(raw))
}

var (
	allowing    = countersign.PolicyRequirements{CoverageMin: "none"}
	challenging = countersign.PolicyRequirements{CoverageMin: "none", ExplicitApprovalRequired: true}
	holding     = countersign.PolicyRequirements{InsufficientEvidence: "hold"}
	denying     = countersign.PolicyRequirements{InsufficientEvidence: "deny"}
)
