package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

const (
	fakeTools    = `{"tools":[{"name":"send","inputSchema":{"type":"object","properties":{"to":{"type":"string","x-mcp-header":"To"}}}},{"name":"ask","inputSchema":{"type":"object"}}]`
	fakePrompt   = `{"messages":[{"role":"user","content":{"type":"text","text":"Pay."}}]`
	fakeResource = `{"contents":[{"uri":"file:///rates","text":"3 %"}]`
	fakeSession  = "server-session"
)

// fake is a server of one revision, which refuses all that its revision does not have.
type fake struct {
	legacy bool
	lax    bool                                            // of a modern server: it agrees to sessions, and refuses what follows
	refuse func(w http.ResponseWriter, id json.RawMessage) // of a legacy server: what it responds to the modern revision

	mu        sync.Mutex
	sessions  int
	ready     bool
	seen      []string // methods
	called    []string // params of calls
	faults    []string
	responses map[string]chan json.RawMessage
}

func startFake(t *testing.T, f *fake) string {
	t.Helper()
	f.responses = map[string]chan json.RawMessage{"1": make(chan json.RawMessage, 1), "2": make(chan json.RawMessage, 1)}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

func (f *fake) fault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

// ServeHTTP serves one message.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		f.mu.Lock()
		f.sessions--
		f.mu.Unlock()
		return
	}
	var text json.RawMessage
	_ = json.NewDecoder(r.Body).Decode(&text)
	m, err := rpc.FromServer(text)
	if err != nil {
		f.fault("%s: %v", text, err)
		return
	}
	f.mu.Lock()
	f.seen = append(f.seen, m.Method)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if f.legacy {
		f.serveLegacy(w, r, m)
	} else {
		f.serveModern(w, r, m)
	}
}

func (f *fake) serveLegacy(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
	meta := rpc.Members(rpc.Members(m.Params)["_meta"])
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.Header.Get(headerVersion) == modernVersion || m.Method == "server/discover":
		f.refuse(w, m.ID)
	case m.Method == "initialize":
		f.sessions++
		w.Header().Set(headerSession, fakeSession)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{},"tasks":{}},"serverInfo":{"name":"fake","version":"1"},"instructions":"Pay."}}`, m.ID)
	case r.Header.Get(headerSession) != fakeSession || f.sessions == 0:
		http.Error(w, "no session", http.StatusNotFound)
	case meta[metaVersion] != nil || meta[metaCapabilities] != nil || r.Header.Get(headerMethod) != "" || r.Header.Get(headerVersion) != "2025-06-18":
		f.faults = append(f.faults, "a request of the modern revision: "+string(m.Text()))
	case m.Response():
		f.responses[string(m.ID)] <- append(m.Result, m.Error...)
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "notifications/initialized":
		f.ready = true
		w.WriteHeader(http.StatusAccepted)
	case !f.ready:
		http.Error(w, "not initialized", http.StatusBadRequest)
	default:
		f.result(w, m, "")
	}
}

func (f *fake) serveModern(w http.ResponseWriter, r *http.Request, m *rpc.Message) {
	meta := rpc.Members(rpc.Members(m.Params)["_meta"])
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case m.Method == "initialize" && f.lax:
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"fake","version":"1"}}}`, m.ID)
	case m.Method == "initialize" || meta[metaVersion] == nil:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"Unsupported","data":{"supported":["2026-07-28"]}}}`, m.ID)
	case r.Header.Get(headerSession) != "" || meta[metaCapabilities] == nil || compare(r.Header, m, modernVersion) != nil:
		f.faults = append(f.faults, "a request that is not of the modern revision: "+string(m.Text()))
	case m.Method == "server/discover":
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":1,"cacheScope":"public","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"logging":{}},"instructions":"Pay.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}}`, m.ID)
	default:
		if m.Method == "tools/call" && rpc.String(rpc.Members(m.Params)["name"]) == "send" && r.Header.Get("Mcp-Param-To") != "Eve" {
			f.faults = append(f.faults, "the argument is not in its header")
		}
		f.result(w, m, `,"resultType":"complete","ttlMs":1000,"cacheScope":"public"`)
	}
}

// result responds to what both revisions have. More is added to results.
func (f *fake) result(w http.ResponseWriter, m *rpc.Message, more string) {
	params := rpc.Members(m.Params)
	result := map[string]string{"tools/list": fakeTools, "prompts/get": fakePrompt, "resources/read": fakeResource, "completion/complete": `{"completion":{"values":["a"]}`}[m.Method]
	switch {
	case m.Method == "resources/read" && rpc.String(params["uri"]) != "file:///rates" && f.legacy:
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"missing"}}`, m.ID)
		return
	case m.Method == "tools/call":
		f.called = append(f.called, string(m.Params))
		if rpc.String(params["name"]) == "ask" && f.ask(w, m, params) {
			return
		}
		result = `{"content":[{"type":"text","text":"sent"}]`
	case result == "":
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, m.ID)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s%s}}`, m.ID, result, more)
}

// ask asks the client, as the revision has it.
func (f *fake) ask(w http.ResponseWriter, m *rpc.Message, params map[string]json.RawMessage) bool {
	const form = `"method":"elicitation/create","params":{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{}}}`
	if !f.legacy {
		if params["requestState"] != nil {
			return false
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"kept","inputRequests":{"name":{%s}}}}`, m.ID, form)
		return true
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,%s}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n\n", form)
	progress := rpc.Members(params["_meta"])["progressToken"]
	_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1,\"progressToken\":%s}}\n\n", progress)
	_ = http.NewResponseController(w).Flush()
	f.mu.Unlock()
	texts, _ := json.Marshal([]string{string(<-f.responses["1"]), string(<-f.responses["2"])})
	f.mu.Lock()
	_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":%s}}\n\n", m.ID, texts)
	return true
}
