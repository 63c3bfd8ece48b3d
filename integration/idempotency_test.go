package integration_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAuthorizeRejectsReusedKeysAndNonces(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	body := request(w.subject(t), action)
	w.Server.post(t, "/api/v1/authorize", body).is(200)

	other := maps.Clone(body)
	other["audience"] = audience
	other["context"] = object{"amount": 1}
	w.Server.post(t, "/api/v1/authorize", other).problem(409, "idempotency_key_reused")

	again := maps.Clone(body)
	again["idempotency_key"] = "another-" + unique()
	w.Server.post(t, "/api/v1/authorize", again).problem(409, "nonce_replayed")
	require.Equal(t, 1, count(t, "select count(*) from authorizations where environment_id = $1", w.ID))
}

func TestAuthorizeRejectsStaleAndMismatchedRequests(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", allowing)
	subject := w.subject(t)
	for _, at := range []int64{time.Now().Add(-10 * time.Minute).Unix(), time.Now().Add(10 * time.Minute).Unix()} {
		body := request(subject, action)
		body["requested_at"] = at
		require.Contains(t, w.Server.post(t, "/api/v1/authorize", body).faults(), `["body","requested_at"] stale_request`)
	}
	body := request(subject, action)
	body["resource"] = object{"type": "other", "id": "1"}
	require.Contains(t, w.Server.post(t, "/api/v1/authorize", body).faults(), `["body","resource","type"] resource_type_mismatch`)
	body = request(subject, action)
	body["mandate_ref"] = "mandate"
	require.NotEmpty(t, w.Server.post(t, "/api/v1/authorize", body).faults())
	body = request("unknown-subject", action)
	w.Server.post(t, "/api/v1/authorize", body).problem(404, "not_found")
	body = request(subject, action)
	body["audience"] = "another-audience"
	w.Server.post(t, "/api/v1/authorize", body).problem(403, "audience_not_allowed")
	require.Zero(t, count(t, "select count(*) from authorizations where environment_id = $1", w.ID))
}

func TestAuthorizeRequiresAnActivePolicy(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	key := "payment.bare_" + unique()
	w.Server.post(t, "/api/v1/actions", object{
		"key": key, "name": "n", "consequence": "c", "allowed_audiences": []string{audience},
	}).is(201)
	w.Server.post(t, "/api/v1/authorize", request(w.subject(t), key)).problem(409, "no_active_policy")
}

func TestIdempotencyKeyReplaysTheResponse(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	keyed := w.Server.with("Idempotency-Key", "make-one-"+unique())
	first := keyed.post(t, "/api/v1/sessions", object{"subject": w.subject(t)})
	require.Equal(t, 201, first.status)
	again := keyed.post(t, "/api/v1/sessions", object{"subject": first.string("subject")})
	require.Equal(t, string(first.body), string(again.body))
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	keyed.post(t, "/api/v1/sessions", object{"subject": first.string("subject"), "device_class": "mobile"}).problem(409, "idempotency_key_reused")
}

func TestIdempotencyKeyFormat(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for key, status := range map[string]int{
		"a": 201, "!~": 201, strings.Repeat("k", 255): 201, strings.Repeat("l", 256): 422, "a b": 422, "ü": 422, "a\tb": 422,
	} {
		a := w.Server.with("Idempotency-Key", key).post(t, "/api/v1/subjects", nil)
		require.Equal(t, status, a.status, "%q response: %s", key, a.body)
		if status == 422 {
			require.Equal(t, []string{`["header","Idempotency-Key"] string_pattern_mismatch`}, a.faults())
		}
	}
}
