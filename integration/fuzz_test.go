package integration_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/api/openapi"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// The fuzzing is configured by its duration and its seed. Without a duration it sends a fixed number of requests; `make fuzz-http`
// sets a minute.
const (
	fuzzTimeEnv = "COUNTERSIGN_FUZZ_TIME"
	fuzzSeedEnv = "COUNTERSIGN_FUZZ_SEED"
	fuzzSlice   = 1000
)

// Any bytes on any route, with any credential, get a valid response: a success or a 4xx that names the fault, never a 500 and
// never internal details. A refused request changes nothing.
func TestFuzzHTTP(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	if s := os.Getenv(fuzzSeedEnv); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		seed = n
	}
	f := newFuzz(t, seed)
	if s := os.Getenv(fuzzTimeEnv); s != "" {
		d, err := time.ParseDuration(s)
		require.NoError(t, err)
		for end := time.Now().Add(d * 3 / 4); time.Now().Before(end); {
			f.one()
		}
	} else {
		for range fuzzSlice {
			f.one()
		}
	}
	f.refusedAgain()
	_, action := f.w.action(t, "enforce", allowing)
	f.w.authorize(t, f.w.subject(t), action, "allow")
	slices.Sort(f.took)
	t.Logf("seed %d: %d requests, %d refused; p50 %s, p99 %s, slowest %s", seed, len(f.took), len(f.refused),
		f.took[len(f.took)/2], f.took[len(f.took)*99/100], f.took[len(f.took)-1])
	for _, status := range slices.Sorted(maps.Keys(f.statuses)) {
		t.Logf("%d: %d", status, f.statuses[status])
	}
}

type fuzz struct {
	t        *testing.T
	w        world
	m        mutator
	good     []hostileRequest // well-formed requests to mutate
	keys     map[string]string
	refused  []hostileRequest
	took     []time.Duration
	statuses map[int]int
}

func newFuzz(t *testing.T, seed uint64) *fuzz {
	t.Helper()
	w, foreign := newSandbox(t), newSandbox(t)
	f := &fuzz{t: t, w: w, m: mutator{rand.New(rand.NewPCG(seed, 0))}, statuses: map[int]int{}}
	r := w.records(t)
	f.keys = map[string]string{
		none: "", malformed: "sk_test_x", publishable: w.Publishable.key, server: w.Server.key, admin: w.Admin.key, "foreign": foreign.Server.key, "client": r.token,
	}
	bodies := map[string][]byte{}
	doc := document(t)
	for _, op := range operations() {
		if example, ok := doc.Example(op.ID); ok {
			bodies[op.ID] = marshal(t, example)
		}
	}
	bodies["authorize"] = marshal(t, request(r.ids["subject_id"], r.action))
	bodies["createSession"] = marshal(t, object{"subject": r.ids["subject_id"]})
	bodies["submitEvidence"] = marshal(t, evidence(typist("fuzz"), "score", time.Now(), 0))
	for _, op := range operations() {
		if op.ID == "streamEvents" {
			continue // has no end
		}
		target := op.Path
		for name, id := range r.idsOf(op.ID) {
			target = strings.ReplaceAll(target, "{"+name+"}", id)
		}
		f.good = append(f.good, hostileRequest{
			operation: op.ID, method: op.Method, target: concrete(openapi.Operation{Path: target}), body: bodies[op.ID],
		})
	}
	return f
}

// records has one record for each of the parameters that most paths have.
type records struct {
	ids           map[string]string // by the parameter's name
	action, token string            // the action's key, a client token of the subject
}

func (w world) records(t *testing.T) records {
	t.Helper()
	actionID, action := w.action(t, "enforce", allowing)
	_, asking := w.action(t, "enforce", challenging)
	_, holds := w.action(t, "enforce", holding)
	subject := w.subject(t)
	return records{
		ids: map[string]string{
			"action_id": actionID, "subject_id": subject, "version": "1",
			"session_id":       w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id"),
			"authorization_id": w.authorize(t, subject, holds, "hold").string("id"),
			"challenge_id":     w.authorize(t, subject, asking, "challenge").string("challenge.id"),
			"jti":              w.authorize(t, subject, action, "allow").string("proof_id"),
		},
		action: action,
		token:  w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example.com"}).is(201).string("client_token"),
	}
}

// idsOf returns none for the operations that end a record, which the other operations need.
func (r records) idsOf(operation string) map[string]string {
	if slices.Contains([]string{"archiveAction", "deleteSubject", "revokeSubject", "endSession", "cancelChallenge"}, operation) {
		return nil
	}
	return r.ids
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

// one sends one mutated request.
func (f *fuzz) one() {
	kinds := []string{server, server, server, admin, admin, admin, none, malformed, publishable, "foreign", "client"}
	h := pick(f.m, f.good)
	h.kind = pick(f.m, kinds)
	h.header = [][2]string{{"Content-Type", "application/json"}}
	if key := f.keys[h.kind]; key != "" {
		h.header = append(h.header, [2]string{"Authorization", "Bearer " + key})
	}
	if h.kind == "client" {
		h.header = append(h.header, [2]string{"Origin", "https://app.example.com"})
	}
	h = f.m.mutate(h)
	start := time.Now()
	a := f.exchange(h)
	f.statuses[a.status]++
	if a.status == 0 {
		return
	}
	f.took = append(f.took, time.Since(start))
	f.judge(h, a)
	if a.status >= 400 {
		f.refused = append(f.refused, h)
	}
}

// exchange sends a request on its own connection. Only a truncated request may get no response.
func (f *fuzz) exchange(h hostileRequest) response {
	f.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(shared.baseURL, "http://"))
	require.NoError(f.t, err, "the service accepts connections")
	defer func() { _ = conn.Close() }()
	require.NoError(f.t, conn.SetDeadline(time.Now().Add(patience)))
	raw := h.bytes()
	go func() {
		_, _ = conn.Write(raw) // the response may arrive before the whole request is read
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: h.method})
	if err != nil && h.cutOff() {
		return response{t: f.t}
	}
	require.NoError(f.t, err, "no response to %.1200q", raw)
	body, err := io.ReadAll(res.Body)
	require.NoError(f.t, err, "truncated response to %.2000q", raw)
	require.NoError(f.t, res.Body.Close())
	return response{t: f.t, status: res.StatusCode, header: res.Header, body: body}
}

var inside = regexp.MustCompile(`SQLSTATE|pq:|goroutine |\.go:\d|panic|runtime error|gorm|pgx|relation "|violates|internal/`)

// judge checks the rules that apply to every response.
func (f *fuzz) judge(h hostileRequest, a response) {
	f.t.Helper()
	sent := fmt.Sprintf("by %s: %.1200q\nresponse %d: %.1000s", h.kind, h.bytes(), a.status, a.body)
	if a.status == http.StatusServiceUnavailable { // allowed on a loaded machine
		require.NotEmpty(f.t, a.header.Get("Retry-After"), sent)
	} else {
		require.Less(f.t, a.status, 500, sent)
	}
	require.False(f.t, inside.MatchString(stripped(a.body)) && a.status >= 400, "shows internal details\n%s", sent)
	require.NotEmpty(f.t, a.header.Get("X-Request-Id"), sent)
	path, _, _ := strings.Cut(h.target, "?")
	id := operationOf(h.method, path)
	switch {
	case h.method == http.MethodHead || a.status < 400:
		if id != "" && h.method != http.MethodHead {
			require.NoError(f.t, shared.contract.ValidateResponse(id, a.status, a.body), sent)
		}
	case a.status == http.StatusUnprocessableEntity:
		var v struct {
			Detail []struct {
				Loc       []any
				Msg, Type string
			}
		}
		require.NoError(f.t, json.Unmarshal(a.body, &v), sent)
		require.NotEmpty(f.t, v.Detail, sent)
		for _, d := range v.Detail {
			require.True(f.t, len(d.Loc) > 0 && d.Msg != "" && d.Type != "", sent)
		}
	default:
		var p struct {
			Type, Title, Detail string
			Code                problem.Code
			Status              int
			RequestID           string `json:"request_id"`
		}
		require.Equal(f.t, "application/problem+json", a.header.Get("Content-Type"), sent)
		require.NoError(f.t, json.Unmarshal(a.body, &p), sent)
		kind, known := problem.Catalogue()[p.Code]
		require.True(f.t, known && kind.Status == a.status && p.Status == a.status && p.Detail != "" && p.RequestID == a.header.Get("X-Request-Id"), sent)
	}
}

// stripped returns the texts of a problem without what it quotes from the request.
func stripped(body []byte) string {
	var p struct{ Title, Detail string }
	if json.Unmarshal(body, &p) != nil {
		return ""
	}
	return p.Title + p.Detail
}

// refusedAgain repeats the refused requests and compares the environment's row counts before and after.
func (f *fuzz) refusedAgain() {
	f.t.Helper()
	for len(f.refused) > 0 {
		before := f.rows()
		passed := 0
		f.refused = slices.DeleteFunc(f.refused, func(h hostileRequest) bool {
			a := f.exchange(h)
			if a.status != 0 && a.status < 400 {
				passed++ // it succeeds now, so it does not count
			}
			return a.status != 0 && a.status < 400
		})
		if passed == 0 {
			require.Equal(f.t, before, f.rows(), "a refused request changes nothing; the newest events: %v", f.newest())
			return
		}
	}
}

// newest returns the newest events of the environment.
func (f *fuzz) newest() []string {
	f.t.Helper()
	rows, err := shared.Store.Pool().Query(f.t.Context(), "select type || ' by ' || actor from events where environment_id = $1 order by id desc limit 3", f.w.ID)
	require.NoError(f.t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(f.t, err)
	return out
}

// rows counts the environment's rows in every table, except those that requests themselves write (quotas, stored responses) and
// those of workflows.
func (f *fuzz) rows() map[string]int {
	f.t.Helper()
	rows, err := shared.Store.Pool().Query(f.t.Context(), `select table_name from information_schema.columns where table_schema = 'public'
		and column_name = 'environment_id' and table_name not in ('outbox', 'idempotency_keys', 'webhook_deliveries', 'webhook_attempts', 'audit_chain', 'audit_heads')`)
	require.NoError(f.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(f.t, err)
	require.Greater(f.t, len(tables), 10)
	counts := map[string]int{}
	for _, name := range tables {
		query := `select count(*) from "` + name + `" where environment_id = $1`
		if name == "events" {
			query += " and actor not like 'workflow:%' and type <> 'operation.refused'"
		}
		counts[name] = count(f.t, query, f.w.ID)
	}
	return counts
}
