package integration_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// The values that have no meaning in a path, a query or a header, but that a database, a clock or a parser may trip over.
var (
	hostileSegments = []string{
		"%00", "a%00b", "%0a", "%7f", "%ff", "%c0%af", "%ed%a0%80", "%F0%9F%99%82", "..%2f", "a%2Fb", "%5c", "%2e%2e", ".", "..", ";", "a;b=c", "%252F", "%25", "%", "%zz",
		"-1", "0", "9223372036854775808", "1e309", "+1", strings.Repeat("x", 4000), "azn_" + strings.Repeat("z", 26), "' or 1=1 --", "{}", "null",
	}
	hostileQueries = []string{
		"%00", "a%00b", "%ff", "%ed%a0%80", "-1", "0", "1e309", "NaN", "9223372036854775808", "99999999999999999999", "", "%20", "0000-01-01T00:00:00Z",
		"9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00%2B23:59", "2026-02-30T00:00:00Z", "2026-11-21T09:30:60Z", "true", strings.Repeat("x", 3000), "%25", "_", "azn_x",
	}
	hostileCursorTexts = []string{
		"1.a\x00b", "1.\xff", "-zzzzzzzzzzzz.a", "1y2p0ij32e8e7.a", "zzzzzzzzzzzz.a", "0.searched", "-1.searched", "zzzz.searched", "1.numbered", "-5.numbered",
		"2z9t7zzzzzzz.numbered", "1.", "a", "-h5wvv2zg00.azn_x",
	}
)

// No value of a path, a query or a header makes an operation fail with a 5xx, whatever the credential.
func TestHostileValuesAreNoInternalErrors(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	token := w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example.com"}).is(201).string("client_token")
	many := 1_000_000 // no refusal of the quota hides a failure
	callers := map[string]caller{"admin": {base: w.Server.base, key: w.issue(t, models.ScopeAdmin, &many)}, "client": caller{base: w.Server.base, key: token}.with("Origin", "https://app.example.com")}
	ask := func(t *testing.T, by, method, target string, header ...string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, w.Server.base, nil)
		require.NoError(t, err)
		req.URL.Opaque = target // as it is: Go would clean the path
		req.Header.Set("Authorization", "Bearer "+callers[by].key)
		for i := 0; i+1 < len(header); i += 2 {
			req.Header[header[i]] = []string{header[i+1]}
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		require.Less(t, res.StatusCode, 500, "%s %s %q", method, target, header)
	}
	encoded := func(raw string) string { return base64.RawURLEncoding.EncodeToString([]byte(raw)) }
	for _, op := range shared.contract.Operations() {
		if op.ID == "streamEvents" || op.ID == "exportSubject" {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			parts := strings.Split(op.Path, "/")
			for i, part := range parts {
				if !strings.HasPrefix(part, "{") {
					parts[i] = part
					continue
				}
				for _, value := range hostileSegments {
					ask(t, "admin", op.Method, strings.Join(filled(parts[:i], subject), "/")+"/"+value+strings.TrimSuffix("/"+strings.Join(filled(parts[i+1:], subject), "/"), "/"))
				}
			}
			path := strings.Join(filled(parts, subject), "/")
			if op.Method != http.MethodGet {
				for _, value := range []string{"\xff\xfe-12345678", strings.Repeat("k", 300), "a\tb", "%00%00%00%00%00", "ключ-12345678"} {
					ask(t, "admin", op.Method, path, "Idempotency-Key", value, "X-Request-Id", value, "Traceparent", value, "X-Service-Research-Optin", value)
				}
				return
			}
			for _, name := range []string{"limit", "cursor", "since", "until", "subject", "action", "decision", "status", "order", "type", "actor", "q", "x"} {
				for _, value := range hostileQueries {
					ask(t, "admin", op.Method, path+"?"+name+"="+value)
				}
			}
			for _, raw := range hostileCursorTexts {
				ask(t, "admin", op.Method, path+"?cursor="+encoded(raw))
			}
		})
	}
	for _, value := range []string{"\xff", "evt_\xff\xfe", "evt_00000000000000000000000000", strings.Repeat("e", 5000), "0", "-1"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Server.base+"/api/v1/events/stream", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+w.Server.key)
		req.Header["Last-Event-Id"] = []string{value}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Less(t, res.StatusCode, 500, value)
	}
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	for _, timestamp := range []float64{-1e15, 1e15, 1e308, -1e308, -62135596801, 253402300800, 0, 5e-324} {
		frame := object{"frame_id": "f-" + encoded(subject)[:8] + string(rune('a'+int(min(max(timestamp, 0), 1)))), "timestamp": timestamp, "duration_ms": 600000, "features": object{}, "window_start": 1e300, "window_end": 1e-300}
		a := callers["client"].post(t, "/api/v1/sessions/"+session+"/evidence", frame)
		require.Less(t, a.status, 500, "%v: %s", timestamp, a.body)
	}
	w.Server.get(t, "/api/v1/sessions/"+session).is(200)
	w.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200)
}

// filled replaces the parameters of a path with ids that may exist.
func filled(parts []string, subject string) []string {
	out := make([]string, len(parts))
	for i, part := range parts {
		switch {
		case part == "{subject_id}":
			out[i] = subject
		case part == "{version}":
			out[i] = "1"
		case strings.HasPrefix(part, "{"):
			out[i] = "azn_01jqx3k5v8e2sbyk0c4m7t9wzd"
		default:
			out[i] = part
		}
	}
	return out
}

// A segment that decodes to several does not select the operation of these.
func TestEncodedSlashSelectsNoOtherOperation(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	subject := w.subject(t)
	passkey := w.device(t, subject)
	require.NotNil(t, passkey)
	id := w.Server.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list()[0]["id"].(string)
	for _, slash := range []string{"%2F", "%2f", "%5C", "%5c"} {
		w.Server.do(t, http.MethodDelete, "/api/v1/subjects/"+subject+slash+"passkeys"+slash+id, nil).problem(404, "not_found")
	}
	require.Len(t, w.Server.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list(), 1)
	for _, id := range []string{".", ".."} {
		require.NotEmpty(t, w.Server.post(t, "/api/v1/subjects", object{"id": id}).is(422).faults())
		w.Server.post(t, "/enrol", object{"user_id": id}).is(422)
	}
	for _, id := range []string{"..." + subject, "." + subject, ".." + subject, subject + ".."} {
		w.Server.post(t, "/api/v1/subjects", object{"id": id}).is(201)
		w.Server.get(t, "/api/v1/subjects/"+id).is(200)
	}
}
