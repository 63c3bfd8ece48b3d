package gate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// reply is the response to a request of JSON-RPC over HTTP.
type reply struct {
	status int
	header http.Header
	Result struct {
		Type    string                  `json:"resultType"`
		IsError bool                    `json:"isError"`
		Content []struct{ Text string } `json:"content"`
		State   string                  `json:"requestState"`
		Meta    map[string]any          `json:"_meta"`
		TaskID  string                  `json:"taskId"`
		Status  string                  `json:"status"`
		Result  json.RawMessage         `json:"result"`
		Scope   string                  `json:"cacheScope"`
		Tools   []map[string]any        `json:"tools"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (r reply) text() string {
	if len(r.Result.Content) == 0 {
		return ""
	}
	return r.Result.Content[0].Text
}

const metaModern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}`

// modernCall is the body and the headers of a call of the modern revision.
func modernCall(tool, arguments, capabilities, more string) (string, map[string]string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,`+metaModern+`%s}}`, tool, arguments, capabilities, more)
	return body, map[string]string{"MCP-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": tool}
}

func modernRequest(method, params string) (string, map[string]string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s`+metaModern+`}}`, method, params, "{}")
	return body, map[string]string{"MCP-Protocol-Version": modern, "Mcp-Method": method}
}

// post sends a message as a subject.
func (l *till) post(t testing.TB, token, body string, headers map[string]string) reply {
	t.Helper()
	return l.postTo(t, "bank", token, body, headers)
}

func (l *till) postTo(t testing.TB, server, token, body string, headers map[string]string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.gateway.URL+"/"+server, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	r, err := read(res)
	require.NoError(t, err)
	return r
}

// read reads a response, which may be the last event of a stream.
func read(res *http.Response) (reply, error) {
	r := reply{status: res.StatusCode, header: res.Header}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return r, err
	}
	if at := bytes.LastIndex(text, []byte("data: ")); at >= 0 && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		text = text[at+len("data: "):]
	}
	if !json.Valid(text) {
		return r, nil
	}
	return r, json.Unmarshal(text, &r)
}

const payment = `{"payee":"Eve","amount":10}`

// authorizations are those of the till's subject that are no follow-up decisions.
func (l *till) authorizations(t testing.TB) []countersign.AuthorizationTrace {
	t.Helper()
	page, err := l.ListAuthorizations(t.Context(), countersign.ListAuthorizationsParams{Subject: l.subject, Limit: 100})
	require.NoError(t, err)
	var out []countersign.AuthorizationTrace
	for _, a := range page.Items {
		if a.Parent == "" {
			out = append(out, a)
		}
	}
	return out
}

// TestMCPRetriesAreOneAuthorization repeats a call at once, after the gateway was killed, and after the approval.
func TestMCPRetriesAreOneAuthorization(t *testing.T) {
	t.Parallel()
	l := openTill(t, "http-http", modern)
	token := l.token(t, l.subject)
	send := func() reply {
		body, headers := modernCall("later", payment, "{}", "")
		return l.post(t, token, body, headers)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			r := send()
			if !strings.Contains(r.text(), "waits for the approval") {
				t.Error(r.text())
			}
		})
	}
	wait.Wait()
	require.Len(t, l.authorizations(t), 1)

	l.gateway.Stop()
	l.gateway.Serve(t)
	require.Contains(t, send().text(), "waits for the approval")
	require.Len(t, l.authorizations(t), 1, "a gateway that was killed finds it")
	require.Empty(t, l.bank.take(t))

	l.gateway.Stop()
	_, err := l.ReviewAuthorization(t.Context(), l.waits(t), countersign.ManualReviewRequest{Resolution: "approve"})
	require.NoError(t, err)
	l.gateway.Serve(t)
	var passed int
	for range 2 {
		if r := send(); !r.Result.IsError {
			passed++
		}
	}
	require.Equal(t, 1, passed)
	require.Equal(t, []string{"later " + payment}, l.bank.take(t), "the approval is for one call")
	require.Len(t, l.authorizations(t), 2, "the same call is a new one once the proof is consumed")

	_, err = l.ReviewAuthorization(t.Context(), l.waits(t), countersign.ManualReviewRequest{Resolution: "reject"})
	require.NoError(t, err)
	for range 3 {
		require.Contains(t, send().text(), "not approved")
	}
	require.Len(t, l.authorizations(t), 2, "a refusal is the result of the same call repeated")
}

// TestMCPIdenticalCallsAtOnce are calls of their own if no person has to settle them: each has a proof.
func TestMCPIdenticalCallsAtOnce(t *testing.T) {
	t.Parallel()
	l := openTill(t, "http-http", modern)
	token := l.token(t, l.subject)
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			body, headers := modernCall("allow", payment, "{}", "")
			if r := l.post(t, token, body, headers); r.text() != "sent 10 to Eve" {
				t.Error(r.status, r.text(), r.Error)
			}
		})
	}
	wait.Wait()
	require.Len(t, l.bank.take(t), 6)
	require.Len(t, l.authorizations(t), 6)
}

// TestMCPTask returns a task for a hold to a client that declares the extension on the request, and to no other.
func TestMCPTask(t *testing.T) {
	t.Parallel()
	l := openTill(t, "http-http", modern)
	token, other := l.token(t, l.subject), l.token(t, l.world.subject(t))
	body, headers := modernCall("later", payment, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, "")
	made := l.post(t, token, body, headers)
	require.Equal(t, "task", made.Result.Type, made.text())
	require.Equal(t, "working", made.Result.Status)
	get := func(token, id string) reply {
		body, headers := modernRequest("tasks/get", fmt.Sprintf(`"taskId":%q,`, id))
		return l.post(t, token, body, headers)
	}
	require.Equal(t, "working", get(token, made.Result.TaskID).Result.Status)
	for name, r := range map[string]reply{
		"of a different person": get(other, made.Result.TaskID), "changed": get(token, made.Result.TaskID[:len(made.Result.TaskID)-2]+"AA"), "made up": get(token, "1"),
	} {
		require.NotNil(t, r.Error, name)
		require.Equal(t, -32602, r.Error.Code, name)
	}
	l.gateway.Stop()
	_, err := l.ReviewAuthorization(t.Context(), l.waits(t), countersign.ManualReviewRequest{Resolution: "approve"})
	require.NoError(t, err)
	l.gateway.Serve(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			r := get(token, made.Result.TaskID)
			if r.Result.Status != "completed" || !strings.Contains(string(r.Result.Result), "sent 10 to Eve") {
				t.Errorf("%s: %s", r.Result.Status, r.Result.Result)
			}
		})
	}
	wait.Wait()
	require.Equal(t, []string{"later " + payment}, l.bank.take(t), "the call is carried out once")
}

// TestMCPCallsThatWaitAreBounded lets one principal wait with more calls than it may: the one too many learns how to continue, the others are settled.
func TestMCPCallsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	const most = 20
	l := openTill(t, "http-http", modern)
	token := l.token(t, l.subject)
	replies := make(chan reply, most+1)
	for n := range most + 1 {
		go func() {
			body, headers := modernCall("hold", fmt.Sprintf(`{"payee":"Eve","amount":%d}`, n+1), "{}", "")
			body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1) // it waits as long as the tool may
			replies <- l.post(t, token, body, headers)
		}()
	}
	require.Contains(t, (<-replies).text(), "waits for the approval")
	var waiting []countersign.AuthorizationTrace
	require.Eventually(t, func() bool {
		waiting = l.authorizations(t)
		return len(waiting) == most+1
	}, time.Minute, 50*time.Millisecond)
	require.Empty(t, replies)
	for _, a := range waiting {
		_, err := l.ReviewAuthorization(t.Context(), a.ID, countersign.ManualReviewRequest{Resolution: "approve"})
		require.NoError(t, err)
	}
	for range most {
		require.Contains(t, (<-replies).text(), "sent ")
	}
	require.Len(t, l.bank.take(t), most)
}
