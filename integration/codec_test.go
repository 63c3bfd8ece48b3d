package integration_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/delivery/histories"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/workflows"
)

const uiOrigin = "http://localhost:8233"

// codecEndpoint is a codec endpoint of the shared service.
type codecEndpoint struct {
	t   *testing.T
	url string
}

func newCodecEndpoint(t *testing.T) codecEndpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	failed := make(chan error, 1)
	t.Cleanup(shared.StartCodec(wiring.CodecOptions{Origin: uiOrigin}, failed, l))
	return codecEndpoint{t, "http://" + l.Addr().String()}
}

// send sends a request as the UI's page does, with changes.
func (e codecEndpoint) send(method, path, body string, change func(r *http.Request)) (*http.Response, string) {
	e.t.Helper()
	req, err := http.NewRequestWithContext(e.t.Context(), method, e.url+path, strings.NewReader(body))
	require.NoError(e.t, err)
	req.Header.Set("Origin", uiOrigin)
	req.Header.Set("X-Namespace", shared.namespace)
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(e.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(e.t, err)
	return resp, string(text)
}

// open has payloads decrypted.
func (e codecEndpoint) open(payloads []*commonpb.Payload, change func(r *http.Request)) []*commonpb.Payload {
	e.t.Helper()
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: payloads})
	require.NoError(e.t, err)
	resp, text := e.send(http.MethodPost, "/decode", string(body), change)
	require.Equal(e.t, http.StatusOK, resp.StatusCode, text)
	require.Equal(e.t, uiOrigin, resp.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(e.t, "no-store", resp.Header.Get("Cache-Control"))
	var out commonpb.Payloads
	require.NoError(e.t, protojson.Unmarshal([]byte(text), &out))
	require.Len(e.t, out.GetPayloads(), len(payloads))
	return out.GetPayloads()
}

func as(v *visitor) func(r *http.Request) { return func(r *http.Request) { r.AddCookie(v.cookie) } }

func bearing(key string) func(r *http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Del("Origin")
	}
}

// payloadsOf returns every payload of the history of a workflow that has ended.
func payloadsOf(t *testing.T, workflow string) (out []*commonpb.Payload) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	eventually(t, func() bool {
		d, err := shared.Temporal.DescribeWorkflow(ctx, workflow, "")
		return err == nil && d.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}, "the end of "+workflow)
	for it := shared.Temporal.GetWorkflowHistory(ctx, workflow, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		require.NoError(t, err)
		require.NoError(t, proxy.VisitPayloads(ctx, e, proxy.VisitPayloadsOptions{SkipSearchAttributes: true,
			Visitor: func(_ *proxy.VisitPayloadsContext, p []*commonpb.Payload) ([]*commonpb.Payload, error) {
				for _, one := range p {
					if string(one.GetMetadata()["encoding"]) == "binary/countersign-sealed" {
						out = append(out, one)
					}
				}
				return p, nil
			}}))
	}
	return out
}

// rejected returns the authorization of a hold whose workflow has ended, and the payloads of its history.
func (w world) rejected(t *testing.T) (authorization string, payloads []*commonpb.Payload) {
	t.Helper()
	_, key := w.action(t, "enforce", holding)
	authorization = w.authorize(t, w.subject(t), key, "hold").string("id")
	w.reviewer(t).post(t, "/api/v1/authorizations/"+authorization+"/review", object{"resolution": "reject"}).is(200)
	return authorization, payloadsOf(t, "hold/"+authorization)
}

func equal(a, b []*commonpb.Payload) int {
	n := 0
	for i := range a {
		if proto.Equal(a[i], b[i]) {
			n++
		}
	}
	return n
}

// Every payload of a workflow is opened for those who audit its environment, and for no one else. Each opening is in the audit log.
func TestCodecOpensHistoriesForAuditorsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	w, other, e := newSandbox(t), newSandbox(t), newCodecEndpoint(t)
	id, sealed := w.rejected(t)
	_, foreign := other.rejected(t)
	require.GreaterOrEqual(t, len(sealed), 5, "input, summary, details, update, steps")
	auditor := w.signedIn(t, models.RoleAuditor)

	opened := e.open(append(append([]*commonpb.Payload{}, sealed...), foreign...), as(auditor))
	require.Zero(t, equal(opened[:len(sealed)], sealed), "every payload of the environment is opened")
	require.Equal(t, len(foreign), equal(opened[len(sealed):], foreign), "no payload of another tenant is")
	require.Contains(t, text(opened), "[Open in the console]("+shared.baseURL+"/console/"+w.ID+"/decisions/"+id+")")
	require.NotContains(t, text(opened), "countersign-workflow")

	for name, change := range map[string]func(r *http.Request){
		"an auditor of another tenant":  as(other.signedIn(t, models.RoleAuditor)),
		"an admin key of another":       bearing(other.Admin.key),
		"a key with audit of another":   bearing(other.narrowed(t, models.PermissionAudit).key),
		"an auditor of the live sister": as(newTenant(t).Live.signedIn(t, models.RoleAuditor)),
	} {
		require.Equal(t, len(sealed), equal(e.open(sealed, change), sealed), name)
	}
	require.Zero(t, equal(e.open(sealed, bearing(w.Admin.key)), sealed), "an admin key of the environment")

	entries := w.openings(t)
	require.Len(t, entries, 2)
	actors := []string{entries[0].Actor, entries[1].Actor}
	require.ElementsMatch(t, []string{"person:" + auditor.person, "credential:" + w.issued[models.ScopeAdmin].Credential.ID}, actors)
	for _, entry := range entries {
		require.JSONEq(t, fmt.Sprintf(`{"workflows":["hold/%s"],"payloads":%d}`, id, len(sealed)), string(entry.Data))
	}
	require.Empty(t, other.openings(t))
}

// openings are the entries of decrypted payloads in the environment's audit log.
func (w world) openings(t *testing.T) []models.Event {
	t.Helper()
	rows, _, err := events.QueryActivity(t.Context(), shared.Store.Q, w.scope(),
		events.ActivityFilter{Types: []string{string(events.HistoryOpened)}}, pg.Page{Limit: 10})
	require.NoError(t, err)
	return rows
}

func text(payloads []*commonpb.Payload) string {
	var out bytes.Buffer
	for _, p := range payloads {
		out.WriteString(protojson.Format(p))
		out.Write(p.GetData())
	}
	return out.String()
}

// Only the UI's page, and only for a person with the role or a key with the permission.
func TestCodecRefusesOthers(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	auditor := w.signedIn(t, models.RoleAuditor)
	left := w.signedIn(t, models.RoleAuditor)
	require.NoError(t, shared.People.Revoke(t.Context(), w.TenantID, left.person, "cli:test"))
	const empty = `{"payloads":[]}`
	for name, c := range map[string]struct {
		method, path, body string
		change             func(r *http.Request)
		status             int
	}{
		"an auditor":               {change: as(auditor), status: 200},
		"a preflight":              {method: http.MethodOptions, status: 204},
		"no credential":            {status: 401},
		"a reviewer and operator":  {change: as(w.signedIn(t, models.RoleReviewer, models.RoleOperator)), status: 403},
		"a person who was revoked": {change: as(left), status: 401},
		"a server key":             {change: bearing(w.Server.key), status: 403},
		"a key without audit":      {change: bearing(w.narrowed(t, without(models.PermissionAudit)...).key), status: 403},
		"a publishable key":        {change: bearing(w.Publishable.key), status: 403},
		"a token of someone else":  {change: bearing("eyJhbGciOiJub25lIn0.e30."), status: 401},
		"a page of another origin": {change: func(r *http.Request) { as(auditor)(r); r.Header.Set("Origin", "https://elsewhere.example") }, status: 403},
		"a form without an origin": {change: func(r *http.Request) { as(auditor)(r); r.Header.Del("Origin") }, status: 401},
		"to encode":                {path: "/encode", change: as(auditor), status: 404},
		"GET":                      {method: http.MethodGet, change: as(auditor), status: 405},
		"no JSON":                  {body: "x", change: as(auditor), status: 400},
		"too many payloads":        {body: `{"payloads":[` + strings.Repeat(`{},`, 1000) + `{}]}`, change: as(auditor), status: 413},
		"too many bytes":           {body: `{"payloads":["` + strings.Repeat("x", 9<<20) + `"]}`, change: as(auditor), status: 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, path, body := c.method, c.path, c.body
			if method == "" {
				method = http.MethodPost
			}
			if path == "" {
				path = "/decode"
			}
			if body == "" {
				body = empty
			}
			resp, text := newCodecEndpoint(t).send(method, path, body, c.change)
			require.Equal(t, c.status, resp.StatusCode, text)
			require.Equal(t, uiOrigin, resp.Header.Get("Access-Control-Allow-Origin"))
		})
	}
}

// One caller cannot ask without end; others are served meanwhile.
func TestCodecLimitsEachCaller(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	service := histories.New(shared.Store, clock.NewFake(time.Now()), shared.People, shared.Identity)
	caller := histories.Caller{Key: w.Admin.key}
	for range histories.Burst {
		_, err := service.Admit(t.Context(), caller)
		require.NoError(t, err)
	}
	_, err := service.Admit(t.Context(), caller)
	require.ErrorContains(t, err, "rate_limited")
	_, err = service.Admit(t.Context(), histories.Caller{Key: newSandbox(t).Admin.key})
	require.NoError(t, err)
}

// A payload of an unknown master key, and one that names no workflow, come back as they came.
func TestCodecLeavesUnknownPayloadsSealed(t *testing.T) {
	t.Parallel()
	w, e := newSandbox(t), newCodecEndpoint(t)
	stranger, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	plain := []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"text"`)}}
	sealed := plain
	for _, keys := range []*keyring.Keyring{shared.keys, stranger} {
		more, err := workflows.NewCodec(keys).Encode(plain)
		require.NoError(t, err)
		sealed = append(sealed, more...)
	}
	require.Equal(t, len(sealed), equal(e.open(sealed, bearing(w.Admin.key)), sealed))
}
