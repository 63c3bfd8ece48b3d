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

// The settings of the fuzzing: how long it goes on (`make fuzz-http` sets a minute; without it, a fixed number of requests
// are made), and its seed.
const (
	fuzzTimeEnv = "COUNTERSIGN_FUZZ_TIME"
	fuzzSeedEnv = "COUNTERSIGN_FUZZ_SEED"
	fuzzSlice   = 1000
)

// Any bytes on any route, by whomever, are answered by a 4xx that names the fault (or rightly well): never by a 500, never
// with anything of the inside, and what is refused changes nothing.
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
	good     []hostile // requests that are well formed, to be spoiled
	keys     map[string]string
	refused  []hostile
	took     []time.Duration
	statuses map[int]int
}

func newFuzz(t *testing.T, seed uint64) *fuzz {
	t.Helper()
	w, foreign := newSandbox(t), newSandbox(t)
	f := &fuzz{t: t, w: w, m: mutator{rand.New(rand.NewPCG(seed, 0))}, statuses: map[int]int{}}
	actionID, action := w.action(t, "enforce", allowing)
	_, asking := w.action(t, "enforce", challenging)
	_, holds := w.action(t, "enforce", holding)
	subject := w.subject(t)
	challenged := w.authorize(t, subject, asking, "challenge")
	held := w.authorize(t, subject, holds, "hold").string("id")
	allowed := w.authorize(t, subject, action, "allow")
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	token := w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example.com"}).is(201).string("client_token")
	f.keys = map[string]string{
		none: "", malformed: "sk_test_x", publishable: w.Publishable.key, server: w.Server.key, admin: w.Admin.key, "foreign": foreign.Server.key, "client": token,
	}
	ids := strings.NewReplacer("{action_id}", actionID, "{subject_id}", subject, "{session_id}", session, "{authorization_id}", held,
		"{challenge_id}", challenged.string("challenge.id"), "{jti}", allowed.string("proof_id"), "{version}", "1")
	bodies := map[string][]byte{}
	doc := document(t)
	for _, op := range operations() {
		if example, ok := doc.Example(op.ID); ok {
			bodies[op.ID] = marshal(t, example)
		}
	}
	bodies["authorize"] = marshal(t, request(subject, action))
	bodies["createSession"] = marshal(t, object{"subject": subject})
	bodies["submitEvidence"] = marshal(t, evidence(typist("fuzz"), "score", time.Now(), 0))
	for _, op := range operations() {
		if op.ID == "streamEvents" {
			continue // does not end by itself
		}
		target := op.Path
		if !slices.Contains([]string{"archiveAction", "deleteSubject", "revokeSubject", "endSession", "cancelChallenge"}, op.ID) {
			target = ids.Replace(target) // what ends a thing is asked of nobody's: the others need it
		}
		f.good = append(f.good, hostile{
			operation: op.ID, method: op.Method, target: concrete(openapi.Operation{Path: target}), body: bodies[op.ID],
		})
	}
	return f
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

// one makes one request, spoiled.
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
	h = f.m.spoil(h)
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

// exchange speaks to the service over a connection of its own. No answer is one only to a request that ends before its end.
func (f *fuzz) exchange(h hostile) answer {
	f.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(shared.baseURL, "http://"))
	require.NoError(f.t, err, "the service lives")
	defer func() { _ = conn.Close() }()
	require.NoError(f.t, conn.SetDeadline(time.Now().Add(patience)))
	raw := h.bytes()
	go func() {
		_, _ = conn.Write(raw) // an answer may come before all of it is taken
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: h.method})
	if err != nil && h.cutOff() {
		return answer{t: f.t}
	}
	require.NoError(f.t, err, "no answer to %.1200q", raw)
	body, err := io.ReadAll(res.Body)
	require.NoError(f.t, err, "half an answer to %.2000q", raw)
	require.NoError(f.t, res.Body.Close())
	return answer{t: f.t, status: res.StatusCode, header: res.Header, body: body}
}

var inside = regexp.MustCompile(`SQLSTATE|pq:|goroutine |\.go:\d|panic|runtime error|gorm|pgx|relation "|violates|internal/`)

// judge holds an answer against what every answer must be.
func (f *fuzz) judge(h hostile, a answer) {
	f.t.Helper()
	sent := fmt.Sprintf("by %s: %.1200q\nanswered %d: %.1000s", h.kind, h.bytes(), a.status, a.body)
	if a.status == http.StatusServiceUnavailable { // a machine under load may have to say so
		require.NotEmpty(f.t, a.header.Get("Retry-After"), sent)
	} else {
		require.Less(f.t, a.status, 500, sent)
	}
	require.False(f.t, inside.MatchString(stripped(a.body)) && a.status >= 400, "tells of the inside\n%s", sent)
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

// stripped leaves out what the answer quotes of the request: the names of properties and of what was sent.
func stripped(body []byte) string {
	var p struct{ Title, Detail string }
	if json.Unmarshal(body, &p) != nil {
		return ""
	}
	return p.Title + p.Detail
}

// refusedAgain makes everything once more that was refused, and counts the rows of the environment before and after.
func (f *fuzz) refusedAgain() {
	f.t.Helper()
	for len(f.refused) > 0 {
		before := f.rows()
		passed := 0
		f.refused = slices.DeleteFunc(f.refused, func(h hostile) bool {
			a := f.exchange(h)
			if a.status != 0 && a.status < 400 {
				passed++ // what it needs is there by now: not one to count by
			}
			return a.status != 0 && a.status < 400
		})
		if passed == 0 {
			require.Equal(f.t, before, f.rows(), "what is refused changes nothing; the newest events: %v", f.newest())
			return
		}
	}
}

// newest are the newest events of the environment.
func (f *fuzz) newest() []string {
	f.t.Helper()
	rows, err := shared.Store.Pool().Query(f.t.Context(), "select type || ' by ' || actor from events where environment_id = $1 order by id desc limit 3", f.w.ID)
	require.NoError(f.t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(f.t, err)
	return out
}

// rows counts what the environment has in every table, but for what counts requests themselves (quotas, kept answers) and
// what workflows do meanwhile.
func (f *fuzz) rows() map[string]int {
	f.t.Helper()
	rows, err := shared.Store.Pool().Query(f.t.Context(), `select table_name from information_schema.columns where table_schema = 'public'
		and column_name = 'environment_id' and table_name not in ('outbox', 'idempotency_keys', 'webhook_deliveries', 'webhook_attempts', 'audit_chain')`)
	require.NoError(f.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(f.t, err)
	require.Greater(f.t, len(tables), 10)
	counts := map[string]int{}
	for _, name := range tables {
		query := `select count(*) from "` + name + `" where environment_id = $1`
		if name == "events" {
			query += " and actor not like 'workflow:%'"
		}
		counts[name] = count(f.t, query, f.w.ID)
	}
	return counts
}
