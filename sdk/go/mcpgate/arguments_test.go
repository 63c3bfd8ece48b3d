package mcpgate_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/mcpgate"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// permitting is a service that lets every call run, and records what it authorized.
type permitting struct {
	decision map[string]any
	context  map[string]any
}

func newPermitting(t *testing.T) (*permitting, *mcpgate.Gate) {
	t.Helper()
	text, err := os.ReadFile("../testdata/decisions.json")
	require.NoError(t, err)
	var recorded []struct{ Answer string }
	require.NoError(t, json.Unmarshal(text, &recorded))
	p := &permitting{}
	require.NoError(t, json.Unmarshal([]byte(recorded[0].Answer), &p.decision))
	p.decision["mode"], p.decision["proof"], p.decision["proof_id"] = "shadow", nil, nil
	client, err := countersign.New("http://service.invalid", "sk_test_x", countersign.WithHTTPClient(&http.Client{Transport: p}))
	require.NoError(t, err)
	return p, &mcpgate.Gate{Client: client, Verifier: &proof.Verifier{Audience: "bank"}}
}

func (p *permitting) RoundTrip(r *http.Request) (*http.Response, error) {
	var asked countersign.AuthorizeRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}
	p.context = asked.Context
	p.decision["action"] = asked.Action
	p.decision["assurance"].(map[string]any)["subject"] = asked.Subject
	text, err := json.Marshal(p.decision)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text)))}, err
}

type order struct {
	Destination string         `json:"destination"`
	Amount      float64        `json:"amount"`
	Count       int64          `json:"count,omitempty"`
	Due         *time.Time     `json:"due,omitempty"`
	Tags        []string       `json:"tags,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
	Kind        any            `json:"kind,omitempty"`
}

var show = []string{"destination", "amount"}

// guarded is a server with the tool orders, whose schema has defaults, and the tool raw, which decodes its arguments itself.
func guarded(t *testing.T, gate *mcpgate.Gate, ran func(order, json.RawMessage)) *mcp.ClientSession {
	t.Helper()
	schema, err := jsonschema.For[order](nil)
	require.NoError(t, err)
	schema.Required = nil
	schema.Properties["amount"].Default = json.RawMessage("5000")
	schema.Properties["destination"].Default = json.RawMessage(`"eve"`)
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	call := mcpgate.Call{Action: "transfer", Subject: "user-1", Agent: "agent", ResourceType: "account", ResourceID: "1", Show: show}
	mcp.AddTool(server, &mcp.Tool{Name: "orders", InputSchema: schema}, mcpgate.Tool(gate,
		func(_ context.Context, _ *mcp.CallToolRequest, in order) (mcpgate.Call, error) {
			for name := range in.Extra {
				in.Extra[name] = "changed by describe"
			}
			return call, nil
		},
		func(_ context.Context, req *mcp.CallToolRequest, in order) (*mcp.CallToolResult, any, error) {
			ran(in, req.Params.Arguments)
			return nil, nil, nil
		}))
	server.AddTool(&mcp.Tool{Name: "raw", InputSchema: &jsonschema.Schema{Type: "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if stop := gate.Check(ctx, req, call); stop != nil {
			return stop, nil
		}
		var in order
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		ran(in, req.Params.Arguments)
		return &mcp.CallToolResult{}, nil
	})
	there, here := mcp.NewInMemoryTransports()
	_, err = server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// anything writes a JSON value as an agent might, with names that are nearly those of the tool.
func anything(r *rand.Rand, depth int) string {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	name := func() string {
		return one("destination", "amount", "count", "tags", "extra", "kind", "due", "Destination", "AMOUNT", `\u0061mount`, "de\u017ftination", "\u212aind", "x", "X", "__proto__", "")
	}
	object := func(n int, text func() string) string {
		var members []string
		for range n {
			members = append(members, `"`+name()+`": `+text())
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	switch kind := r.IntN(7 - min(depth, 3)); {
	case depth == 0 || kind == 6:
		good := map[string]func() string{
			"destination": func() string { return one(`"eve"`, `"mallory"`, `"\ud800"`, `"e\u0301"`) },
			"amount":      func() string { return one("10", "9999", "1e3", "0.1", "-0", "1E400", "9007199254740993", "1.0") },
			"count":       func() string { return one("1", "0", "-7", "9007199254740993", "12345678901234") },
			"due":         func() string { return one(`"2026-03-01T12:00:00Z"`, `"2026-03-01T12:00:00.000+01:00"`) },
			"tags":        func() string { return one("[]", `["a", "a"]`, "null") },
			"extra":       func() string { return anything(r, depth+3) },
			"kind":        func() string { return anything(r, depth+2) },
		}
		var members []string
		for member, text := range good {
			if r.IntN(3) > 0 {
				members = append(members, `"`+member+`": `+text())
			}
		}
		if r.IntN(3) == 0 {
			members = append(members, `"`+name()+`": `+anything(r, depth+1))
		}
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{" + strings.Join(members, ", ") + "}"
	case kind >= 4:
		return object(r.IntN(3), func() string { return anything(r, depth+1) })
	case kind == 3:
		return "[" + anything(r, depth+1) + "]"
	default:
		return one("null", "true", `"text"`, "1", "1.50", "1e2", "-0.0", `"\udfff"`, `""`, "123456789012345678901234567890")
	}
}

func TestWhatRunsIsWhatWasAuthorized(t *testing.T) {
	t.Parallel()
	service, gate := newPermitting(t)
	var runs int
	var in order
	var arguments json.RawMessage
	session := guarded(t, gate, func(o order, raw json.RawMessage) { runs, in, arguments = runs+1, o, raw })
	ran := map[string]int{}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		tool, before, text := []string{"orders", "raw"}[i%2], runs, anything(r, 0)
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(text)})
		if err != nil || runs == before {
			continue
		}
		ran[tool]++
		var members map[string]any
		require.NoError(t, json.Unmarshal(arguments, &members))
		got, err := proof.ContextDigest(members)
		require.NoError(t, err)
		require.Equal(t, service.context["arguments_digest"], got, text)
		shown, _ := service.context["arguments"].(map[string]any)
		require.Equal(t, in.Amount, or(shown["amount"], 0.0), text)
		require.Equal(t, in.Destination, or(shown["destination"], ""), text)
		if tool == "orders" {
			executed, err := proof.Canonical(in)
			require.NoError(t, err)
			require.Equal(t, string(executed), string(arguments), text)
		}
	}
	require.Greater(t, ran["orders"], 500)
	require.Greater(t, ran["raw"], 500)
}

func or(v, otherwise any) any {
	if v == nil {
		return otherwise
	}
	return v
}

func TestAmbiguousArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	service, gate := newPermitting(t)
	var in order
	ran := false
	session := guarded(t, gate, func(o order, _ json.RawMessage) { ran, in = true, o })
	call := func(t *testing.T, tool, text string) string {
		t.Helper()
		ran, in, service.context = false, order{}, nil
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(text)})
		require.NoError(t, err)
		if res.IsError {
			return res.Content[0].(*mcp.TextContent).Text
		}
		return ""
	}
	for name, text := range map[string]string{
		"two spellings":           `{"destination": "eve", "Destination": "mallory", "amount": 10, "AMOUNT": 9999}`,
		"the same name twice":     `{"destination": "eve", "destination": "mallory"}`,
		"an escaped name":         `{"destination": "eve", "d\u0065stination": "mallory"}`,
		"a long s":                `{"destination": "eve", "de\u017ftination": "mallory"}`,
		"a nested object":         `{"destination": "eve", "extra": {"to": [{"a": 1, "A": 2}]}}`,
		"only the other spelling": `{"Destination": "mallory"}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, tool := range []string{"orders", "raw"} {
				require.NotEmpty(t, call(t, tool, text))
				require.False(t, ran)
			}
		})
	}
	t.Run("defaults are shown and run", func(t *testing.T) {
		require.Empty(t, call(t, "orders", `{}`))
		require.Equal(t, map[string]any{"destination": "eve", "amount": 5000.0}, service.context["arguments"])
		require.Equal(t, order{Destination: "eve", Amount: 5000}, in)
	})
	t.Run("null", func(t *testing.T) {
		require.Empty(t, call(t, "raw", `null`))
		require.Equal(t, order{}, in)
	})
}

// hidden does not survive its own JSON: what a person would be shown is not what would run.
type hidden struct{ cents int }

func (h hidden) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{"cents": h.cents}) }

func (h *hidden) UnmarshalJSON(text []byte) error {
	var in struct{ Cents int }
	err := json.Unmarshal(text, &in)
	h.cents = in.Cents * 100
	return err
}

func TestAnInputThatDoesNotSurviveItsJSONIsRefused(t *testing.T) {
	t.Parallel()
	_, gate := newPermitting(t)
	handler := mcpgate.Tool(gate, func(context.Context, *mcp.CallToolRequest, hidden) (mcpgate.Call, error) { return mcpgate.Call{}, nil },
		func(context.Context, *mcp.CallToolRequest, hidden) (*mcp.CallToolResult, any, error) {
			require.Fail(t, "the tool ran")
			return nil, nil, nil
		})
	res, _, err := handler(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}, hidden{cents: 5})
	require.NoError(t, err)
	require.True(t, res.IsError)
}
