package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/integration/gatetest"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// bank is an MCP server that knows nothing of Countersign, and records the calls that reach it.
type bank struct {
	file string // of a program
	mu   sync.Mutex
	runs []string // tool and arguments
}

type transfer struct {
	Payee  string  `json:"payee"`
	Amount float64 `json:"amount"`
}

func (b *bank) record(tool string, arguments any) {
	text, _ := json.Marshal(arguments)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == "" {
		b.runs = append(b.runs, tool+" "+string(text))
		return
	}
	f, err := os.OpenFile(b.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = fmt.Fprintf(f, "%s %s\n", tool, text)
		_ = f.Close()
	}
}

// take returns the calls that reached the bank since the last time.
func (b *bank) take(t testing.TB) []string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	runs := b.runs
	b.runs = nil
	if b.file != "" {
		text, err := os.ReadFile(b.file)
		if err == nil && len(text) > 0 {
			runs = strings.Split(strings.TrimSpace(string(text)), "\n")
		}
		require.NoError(t, os.WriteFile(b.file, nil, 0o600))
	}
	return runs
}

// calls is how many calls have reached the bank.
func (b *bank) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.runs)
}

// server returns a server with a tool for each kind of decision, which speaks one revision, or all.
func (b *bank) server(description, revision string) *mcp.Server {
	options := &mcp.ServerOptions{}
	if revision != all {
		options.SupportedProtocolVersions = []string{revision}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1.0.0"}, options)
	for _, name := range []string{"allow", "challenge", "hold", "later", "deny", "pass", "unnamed"} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, func(_ context.Context, _ *mcp.CallToolRequest, in transfer) (*mcp.CallToolResult, any, error) {
			b.record(name, in)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("sent %v to %s", in.Amount, in.Payee)}}}, nil, nil
		})
	}
	s.AddResource(&mcp.Resource{URI: "file:///rates", Name: "rates"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///rates", Text: "3 %"}}}, nil
	})
	return s
}

// The test binary is the program of a server too.
const (
	bankFile     = "COUNTERSIGN_TEST_BANK"
	bankRevision = "COUNTERSIGN_TEST_BANK_REVISION"
)

func runBank() bool {
	file, is := os.LookupEnv(bankFile)
	if !is {
		return false
	}
	b := &bank{file: file}
	_ = b.server(os.Getenv("DESCRIPTION"), os.Getenv(bankRevision)).Run(context.Background(), &mcp.StdioTransport{}) // the gateway ends it
	return true
}

// till is a bank behind a gateway, reached by one of the ways.
type till struct {
	world
	bank      *bank
	gateway   *gatetest.MCP
	issuer    *gatetest.Issuer
	subject   string
	swap      atomic.Pointer[mcp.Server] // the server that responds over HTTP
	client    string                     // http or stdio
	version   string                     // of the protocol
	stateless bool                       // a bank over HTTP keeps no sessions
	speaks    string                     // the revision of the bank, or all
}

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
	all    = "all" // revisions, of a server
)

var tillWays = []string{"http-http", "http-program", "stdio-program", "stdio-http"}

// openTill opens a bank that speaks all revisions. The way names how clients reach the gateway, and how the gateway reaches the bank.
func openTill(t testing.TB, way, version string) *till {
	t.Helper()
	return openTillSpeaking(t, way, version, all)
}

// openTillSpeaking opens a bank that speaks one revision, or all, and is used in one.
func openTillSpeaking(t testing.TB, way, version, speaks string) *till {
	t.Helper()
	w := newWorld(t)
	client, upstream, _ := strings.Cut(way, "-")
	l := &till{world: w, bank: &bank{}, issuer: gatetest.StartIssuer(t), subject: w.subject(t), client: client, version: version, speaks: speaks, stateless: upstream == "stateless"}
	at := fmt.Sprintf("{url: %q}", l.startBank(t))
	if upstream == "program" {
		l.bank.file = filepath.Join(t.TempDir(), "calls")
		at = fmt.Sprintf("{command: [%q], env: {%s: {env: BANK_FILE}, %s: {env: BANK_REVISION}}}", os.Args[0], bankFile, bankRevision)
	}
	text := fmt.Sprintf("- name: bank\n  upstream: %s\n  repeat_within: 1h\n  tools:\n", at)
	for name, requirements := range map[string]countersign.PolicyRequirements{"allow": allowing, "challenge": challenging, "hold": holding, "deny": denying} {
		text += l.tool(t, name, w.action(t, "enforce", requirements), "3m")
	}
	text += l.tool(t, "later", w.action(t, "enforce", holding), "0s")
	text += "  - {name: pass, pass: true}\n"
	l.gateway = gatetest.NewMCP(t, gatetest.MCPConfig{ServiceURL: shared.url, Key: w.gate, Issuer: l.issuer, Subject: l.subject, Servers: text, Env: []string{"BANK_FILE=" + l.bank.file, "BANK_REVISION=" + speaks}})
	if client == "http" {
		l.gateway.Serve(t)
	}
	return l
}

func (l *till) tool(t testing.TB, name, action, wait string) string {
	t.Helper()
	return fmt.Sprintf("  - {name: %s, action: %s, audience: payments, resource: {type: payment, id: \"'acc-1'\"}, context: {payee: call.arguments.payee}, show: [amount], wait: %s}\n", name, action, wait)
}

// startBank serves the bank over HTTP.
func (l *till) startBank(t testing.TB) string {
	t.Helper()
	l.swap.Store(l.bank.server("Moves money.", l.speaks))
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return l.swap.Load() }, &mcp.StreamableHTTPOptions{Stateless: l.stateless || l.version == modern && l.speaks != legacy || l.speaks == modern}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return server.URL
}

// bearer adds a token to each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func (l *till) token(t testing.TB, subject string) string {
	return l.issuer.Token(t, subject, map[string]any{"client_id": "shopper"})
}

// connect connects an official client. Opened receives the links that it is asked to open; action is that of its user.
func (l *till) connect(t testing.TB, opened func(link string) (action string)) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, l.opening(opened))
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: l.gateway.URL + "/bank", HTTPClient: &http.Client{Transport: bearer{l.token(t, l.subject)}}}
	if l.client == "stdio" {
		cmd := l.gateway.Stdio(t, "bank")
		cmd.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: cmd}
	}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: l.version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// opening are the options of a client that opens pages, unless opened is nil.
func (l *till) opening(opened func(link string) (action string)) *mcp.ClientOptions {
	if opened == nil {
		return &mcp.ClientOptions{}
	}
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: opened(r.Params.URL)}, nil
		},
	}
}

// confirm confirms the challenge of a link as the sandbox allows.
func (l *till) confirm(t testing.TB) func(link string) string {
	return func(link string) string {
		u, err := url.Parse(link)
		if err != nil {
			t.Error(err)
			return "cancel"
		}
		if err := l.complete(t, path.Base(u.Path)); err != nil {
			t.Error(err)
		}
		return "accept"
	}
}

func callTool(t testing.TB, s *mcp.ClientSession, tool string, amount float64) (*mcp.CallToolResult, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: transfer{"Eve", amount}})
}

func textOf(r *mcp.CallToolResult) string {
	if r == nil || len(r.Content) == 0 {
		return ""
	}
	content, _ := r.Content[0].(*mcp.TextContent)
	if content == nil {
		return ""
	}
	return content.Text
}
