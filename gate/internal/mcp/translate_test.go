package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// refusals are responses of servers of earlier revisions to the modern one.
var refusals = map[string]func(http.ResponseWriter, json.RawMessage){
	"a status": func(w http.ResponseWriter, _ json.RawMessage) { http.Error(w, "no session", http.StatusBadRequest) },
	"a failure": func(w http.ResponseWriter, _ json.RawMessage) {
		http.Error(w, "failed", http.StatusInternalServerError)
	},
	"an unknown method":   refusing(-32601, "null"),
	"invalid parameters":  refusing(-32602, "null"),
	"the versions it has": refusing(-32022, `{"supported":["2025-11-25"]}`),
	"a result without any": func(w http.ResponseWriter, id json.RawMessage) {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	},
}

func refusing(code int, data string) func(http.ResponseWriter, json.RawMessage) {
	return func(w http.ResponseWriter, id json.RawMessage) {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no","data":%s}}`, id, code, data)
	}
}

// openFake returns a gateway in front of a server, whose tools pass and are accepted.
func openFake(t *testing.T, f *fake) *Server {
	t.Helper()
	at, err := url.Parse(startFake(t, f))
	require.NoError(t, err)
	conf := &config.MCPServer{Name: "fake", URL: at, Passes: true}
	g := &Gateway{config: &config.MCP{MessageBytes: 1 << 20, Waiting: 1, LockFile: filepath.Join(t.TempDir(), "lock")}, log: slog.New(slog.DiscardHandler),
		report: func(string, string, decide.Verdict) {}, refuse: func(string, string, string) {}, waiting: map[string]int{}, inputs: map[string]chan *rpc.Message{}}
	lock := &Lock{Servers: map[string]map[string]string{}}
	_, err = g.Accept(t.Context(), conf, lock, http.DefaultTransport, io.Discard)
	require.NoError(t, err)
	require.NoError(t, lock.Write(g.config.LockFile))
	s := g.server(conf, translated(newRemote(conf, http.DefaultTransport, 1<<20)))
	t.Cleanup(s.upstream.Close)
	return s
}

// fakeClient is a client of one revision.
type fakeClient struct {
	s      *Server
	client *Client
	modern bool
	asked  func(m *rpc.Message) (result string) // of a client of a session

	mu   sync.Mutex
	head Head
	got  []*rpc.Message
}

// Begin keeps the head.
func (c *fakeClient) Begin(h Head) { c.head = h }

// Send keeps a message, and responds to a request.
func (c *fakeClient) Send(e Event) {
	c.mu.Lock()
	c.got = append(c.got, e.Message)
	c.mu.Unlock()
	if e.Message.Request() {
		go func() {
			_ = c.s.Respond(context.Background(), c.client, &rpc.Message{ID: e.Message.ID, Result: json.RawMessage(c.asked(e.Message))})
		}()
	}
}

func (c *fakeClient) last() *rpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got[len(c.got)-1]
}

// connect begins as clients of the revision do.
func (s *Server) connect(t *testing.T, modern bool, capabilities string) (*fakeClient, map[string]json.RawMessage) {
	t.Helper()
	c := &fakeClient{s: s, modern: modern, client: &Client{Who: &principal.Principal{Subject: "Ann", Source: "process"}, Agent: "agent"}}
	if modern {
		m := c.request(t, "server/discover", "")
		require.Nil(t, m.Error, string(m.Error))
		return c, rpc.Members(m.Result)
	}
	m := c.request(t, "initialize", `"protocolVersion":"2025-11-25","clientInfo":{"name":"a","version":"1"},"capabilities":`+capabilities)
	require.Nil(t, m.Error, string(m.Error))
	c.client.Session, c.client.Version = c.head.Session, rpc.String(rpc.Members(m.Result)["protocolVersion"])
	require.NoError(t, s.Notify(t.Context(), c.client, &rpc.Message{Method: "notifications/initialized"}))
	return c, rpc.Members(m.Result)
}

func (c *fakeClient) request(t *testing.T, method, params string) *rpc.Message {
	t.Helper()
	if c.modern {
		if params != "" {
			params += ","
		}
		params += `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":7}`
	}
	c.mu.Lock()
	c.got, c.head = nil, Head{}
	c.mu.Unlock()
	m, err := rpc.FromClient(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":5,"method":%q,"params":{%s}}`, method, params))
	require.NoError(t, err)
	require.NoError(t, c.s.Handle(t.Context(), c.client, m, nil, c))
	last := c.last()
	require.True(t, last.Response())
	require.Equal(t, "5", string(last.ID))
	return last
}

// TestRevisions lets a client of each revision use a server of each.
func TestRevisions(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		for _, legacy := range []bool{false, true} {
			t.Run(fmt.Sprintf("client modern %t, server legacy %t", modern, legacy), func(t *testing.T) {
				t.Parallel()
				f := &fake{legacy: legacy, refuse: refusals["a status"]}
				s := openFake(t, f)
				c, begun := s.connect(t, modern, "{}")
				require.Equal(t, `"Pay."`, string(begun["instructions"]))
				require.NotContains(t, string(begun["capabilities"]), `"tasks":`)
				if modern {
					require.Equal(t, modernVersion, supported(rpc.Object(begun))[0])
				}
				for _, r := range []struct{ method, params, want string }{
					{"tools/list", "", fakeTools + "}"},
					{"tools/call", `"name":"send","arguments":{"to":"Eve"}`, `{"content":[{"type":"text","text":"sent"}]}`},
					{"prompts/get", `"name":"pay"`, fakePrompt + "}"},
					{"resources/read", `"uri":"file:///rates"`, fakeResource + "}"},
					{"completion/complete", "", `{"completion":{"values":["a"]}}`},
				} {
					m := c.request(t, r.method, r.params)
					require.Nil(t, m.Error, "%s: %s", r.method, m.Error)
					result := rpc.Members(m.Result)
					if modern {
						require.Equal(t, `"complete"`, string(result["resultType"]), r.method)
						if legacy {
							require.Equal(t, shared[r.method].cached, result["ttlMs"] != nil, r.method)
						}
					} else if !legacy {
						require.NotContains(t, string(m.Result), "resultType")
					}
					for _, name := range []string{"resultType", "ttlMs", "cacheScope", "_meta"} {
						delete(result, name)
					}
					require.JSONEq(t, r.want, string(rpc.Object(result)), r.method)
				}
				require.Equal(t, `-32601`, string(rpc.Members(c.request(t, "prompts/list", "").Error)["code"]))
				f.mu.Lock()
				defer f.mu.Unlock()
				require.Empty(t, f.faults)
				require.Len(t, f.called, 1)
			})
		}
	}
}

// TestRevisionOfAServer is found out once, however the server refuses the modern one.
func TestRevisionOfAServer(t *testing.T) {
	t.Parallel()
	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{legacy: true, refuse: refuse}
			s := openFake(t, f) // accepting asks once, by a connection of its own
			f.mu.Lock()
			require.Zero(t, f.sessions, "the session of the operator has ended")
			f.mu.Unlock()
			var wait sync.WaitGroup
			for range 5 {
				wait.Go(func() {
					c := &fakeClient{s: s, modern: true, client: &Client{Who: &principal.Principal{Subject: "Ann"}, Agent: "agent"}}
					m, _ := rpc.FromClient(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":%s}}`, ownMeta))
					if err := s.Handle(context.Background(), c.client, m, nil, c); err != nil || c.last().Error != nil {
						t.Errorf("%v %s", err, c.last().Error)
					}
				})
			}
			wait.Wait()
			f.mu.Lock()
			defer f.mu.Unlock()
			require.Equal(t, 2, count(f.seen, "server/discover"))
			require.Equal(t, 2, count(f.seen, "initialize"))
			require.Equal(t, 1, f.sessions)
			require.Empty(t, f.faults)
		})
	}
}

func count(list []string, item string) (n int) {
	for _, s := range list {
		if s == item {
			n++
		}
	}
	return n
}

// TestHeldSessionHasNoCapabilities lets a server ask in a session that the gateway holds: the client is not asked, and learns of its own progress only.
func TestHeldSessionHasNoCapabilities(t *testing.T) {
	t.Parallel()
	f := &fake{legacy: true, refuse: refusals["a status"]}
	c, _ := openFake(t, f).connect(t, true, "")
	m := c.request(t, "tools/call", `"name":"ask"`)
	require.Contains(t, string(m.Result), "has not declared the capability")
	require.Contains(t, string(m.Result), `"{}"`, "the ping")
	require.Len(t, c.got, 2)
	require.JSONEq(t, `{"progress":1,"progressToken":7}`, string(c.got[0].Params))
	require.Equal(t, "-32602", string(rpc.Members(c.request(t, "resources/read", `"uri":"file:///x"`).Error)["code"]))
	for _, method := range []string{"subscriptions/listen", "ping", "logging/setLevel"} {
		require.Equal(t, "-32601", string(rpc.Members(c.request(t, method, "").Error)["code"]))
		require.Equal(t, http.StatusNotFound, c.head.Status)
	}
	require.Empty(t, f.faults)
}

// TestHeldSessionThatEnded is begun anew; but a call of a tool is sent once.
func TestHeldSessionThatEnded(t *testing.T) {
	t.Parallel()
	f := &fake{legacy: true, refuse: refusals["a status"]}
	s := openFake(t, f)
	c, _ := s.connect(t, true, "")
	end := func() {
		f.mu.Lock()
		f.sessions, f.ready = 0, false
		f.mu.Unlock()
	}
	end()
	require.Nil(t, c.request(t, "tools/list", "").Error)
	require.Nil(t, c.request(t, "tools/call", `"name":"send","arguments":{"to":"Eve"}`).Error)
	end()
	require.NotNil(t, c.request(t, "tools/call", `"name":"send","arguments":{"to":"Eve"}`).Error)
	require.Nil(t, c.request(t, "tools/call", `"name":"send","arguments":{"to":"Eve"}`).Error)
	require.Len(t, f.called, 2)
	require.Equal(t, 3, count(f.seen, "tools/call"))
}

// TestServerAsksClientOfASession turns the question of a server that knows no sessions into a request, if the client declared the capability.
func TestServerAsksClientOfASession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ capabilities, want string }{
		"forms":       {`{"elicitation":{}}`, ""},
		"both modes":  {`{"elicitation":{"form":{},"url":{}}}`, ""},
		"only pages":  {`{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{}}}`},
		"nothing":     {`{}`, `{"elicitation":{}}`},
		"other kinds": {`{"sampling":{},"roots":{"listChanged":true}}`, `{"elicitation":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{lax: name == "forms"}
			s := openFake(t, f)
			client, _ := s.connect(t, false, c.capabilities)
			client.asked = func(m *rpc.Message) string {
				if m.Method != "elicitation/create" || !strings.Contains(string(m.Params), "Name?") {
					return `{}`
				}
				return `{"action":"accept","content":{"name":"Ann"}}`
			}
			m := client.request(t, "tools/call", `"name":"ask","arguments":{"n":1}`)
			if c.want != "" {
				require.Equal(t, "-32021", string(rpc.Members(m.Error)["code"]))
				require.JSONEq(t, c.want, string(rpc.Members(rpc.Members(m.Error)["data"])["requiredCapabilities"]))
				require.Len(t, f.called, 1)
				return
			}
			require.JSONEq(t, `{"content":[{"type":"text","text":"sent"}]}`, string(m.Result))
			require.Len(t, f.called, 2)
			again := rpc.Members(json.RawMessage(f.called[1]))
			require.Equal(t, `"kept"`, string(again["requestState"]))
			require.JSONEq(t, `{"name":{"action":"accept","content":{"name":"Ann"}}}`, string(again["inputResponses"]))
			require.Equal(t, `{"n":1}`, string(again["arguments"]))
			require.Empty(t, f.faults)
			require.Empty(t, s.inputs)
			require.Empty(t, s.waiting)
		})
	}
}

// TestPinsAreOfEitherRevision compares what operators accept, and what clients of both revisions are shown.
func TestPinsAreOfEitherRevision(t *testing.T) {
	t.Parallel()
	locks := map[bool][]byte{}
	for _, legacy := range []bool{false, true} {
		s := openFake(t, &fake{legacy: legacy, refuse: refusals["a status"]})
		var err error
		locks[legacy], err = os.ReadFile(s.config.LockFile)
		require.NoError(t, err)
		for _, modern := range []bool{false, true} {
			c, _ := s.connect(t, modern, "{}")
			tools, _, faults := Definitions(c.request(t, "tools/list", "").Result)
			require.Empty(t, faults)
			require.Len(t, tools, 2)
			for _, d := range tools {
				require.Contains(t, string(locks[legacy]), d.Digest)
			}
		}
	}
	require.True(t, bytes.Equal(locks[true], locks[false]))
}

// The shared methods are those that the schemas of both revisions have for clients.
func TestSharedMethodsAreComplete(t *testing.T) {
	t.Parallel()
	lists := [2][]string{}
	for i, file := range []string{"2025-11-25", "2026-07-28"} {
		text, err := os.ReadFile("testdata/" + file + ".txt")
		require.NoError(t, err)
		lists[i] = strings.Fields(string(text))
	}
	for name, m := range methods {
		request := slices.Contains([]way{relay, filter, decideOn}, m.fromClient) && !strings.HasPrefix(name, "notifications/")
		_, is := shared[name]
		require.Equal(t, request && slices.Contains(lists[0], name) && slices.Contains(lists[1], name), is, name)
	}
}
