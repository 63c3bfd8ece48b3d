package integration_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/models"
)

// loggedReplica starts an API on the shared data that logs at every level.
func loggedReplica(t *testing.T) (base string, l *syncBuffer) {
	t.Helper()
	l = &syncBuffer{}
	log := slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return replica(t, wiring.Settings{Log: log}), l
}

// The log contains no keys, proofs, tickets, notes, subject ids or typed text, however a request fails.
func TestLogContainsNoSecrets(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	base, log := loggedReplica(t)
	server := caller{base: base, key: w.Server.key}
	const canary = "canary-7f3a9c"
	subject := "person-" + canary
	server.post(t, "/api/v1/subjects", object{"id": subject}).is(201)
	_, action := w.action(t, "enforce", object{"coverage_min": "none"})
	_, held := w.action(t, "enforce", holding)
	_, asked := w.action(t, "enforce", challenging)

	allowed := server.post(t, "/api/v1/authorize", request(subject, action)).is(200)
	hold := server.post(t, "/api/v1/authorize", request(subject, held)).is(200)
	server.post(t, "/api/v1/authorizations/"+hold.string("id")+"/review", object{"resolution": "reject", "note": "note " + canary}).is(200)
	challenge := server.post(t, "/api/v1/authorize", request(subject, asked)).is(200).string("challenge.id")
	link := server.post(t, "/api/v1/challenges/"+challenge+"/link", nil).is(201).string("url")
	_, ticket, _ := strings.Cut(link, "#")
	require.Len(t, ticket, 43)
	require.NotContains(t, strings.TrimSuffix(link, "#"+ticket), ticket)
	shown, err := http.PostForm(base+"/challenge/"+challenge, url.Values{"ticket": {ticket}})
	require.NoError(t, err)
	require.NoError(t, shown.Body.Close())
	require.Equal(t, http.StatusOK, shown.StatusCode)
	server.post(t, "/api/v1/verify", object{"proof": allowed.string("proof"), "consume": true}).is(200)
	grant := server.post(t, "/api/v1/subjects/"+subject+"/passkeys/registration-grants", nil).is(201)
	server.post(t, "/api/v1/subjects/"+subject+"/passkeys/register/complete", object{
		"registration_grant": grant.string("token"), "credential": object{"id": canary, "type": "public-key"}})

	session := server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	frame := evidence(typist("ada"), "score", time.Now().Add(-time.Minute), 0)
	frame["features"] = object{"typed": "my password " + canary}
	server.post(t, "/api/v1/sessions/"+session+"/evidence", frame)
	for _, wrong := range []string{"/api/v1/subjects/" + canary, "/" + canary, "/api/v1/actions?cursor=" + canary, "/api/v1/activity?subject=" + canary} {
		_, err := server.send("GET", wrong, nil)
		require.NoError(t, err)
	}
	_, err = caller{base: base, key: w.Server.key[:len(w.Server.key)-1] + "x"}.send("GET", "/api/v1/meta", nil)
	require.NoError(t, err)
	_, err = server.send("POST", "/api/v1/authorize", `{"subject": "`+canary+`", `)
	require.NoError(t, err)

	eventually(t, func() bool { return strings.Count(log.String(), `"msg":"request"`) >= 15 }, "the requests are logged")
	text := log.String()
	require.Contains(t, text, `"route":"authorize"`)
	for name, secret := range map[string]string{
		"typed text, subject or note": canary, "the key": w.Server.key[8:30], "the proof": allowed.string("proof")[40:80],
		"the ticket": ticket, "the grant": grant.string("token"),
	} {
		require.NotContains(t, text, secret, name)
	}
}

// The database stores keys, tickets and grants as keyed hashes and notes as digests.
func TestDatabaseContainsNoSecrets(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	key := w.issue(t, models.ScopeServer, nil)
	_, action := w.action(t, "enforce", challenging)
	_, held := w.action(t, "enforce", holding)
	subject := w.subject(t)
	link := w.Server.post(t, "/api/v1/challenges/"+w.authorize(t, subject, action, "challenge").string("challenge.id")+"/link", nil).is(201).string("url")
	grant := w.Server.post(t, "/api/v1/subjects/"+subject+"/passkeys/registration-grants", nil).is(201).string("token")
	note := "note-" + subject + "-canary"
	w.Server.post(t, "/api/v1/authorizations/"+w.authorize(t, subject, held, "hold").string("id")+"/review", object{"resolution": "reject", "note": note}).is(200)
	token := w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": "https://app.example"}).is(201)
	secret := w.Admin.post(t, "/api/v1/webhook-endpoints", object{"url": "https://hooks.example/countersign"}).is(201).string("secret")

	require.NotEmpty(t, rowsWith(t, subject), "the search finds the subject before the erasure")
	for name, text := range map[string]string{
		"a key": key[8:], "a ticket": link[strings.LastIndexByte(link, '#')+1:], "a grant": grant, "a note": note,
		"a client token": token.string("client_token"), "a webhook's secret": strings.TrimPrefix(secret, "whsec_"),
	} {
		require.NotEmpty(t, text, name)
		require.Empty(t, rowsWith(t, text), "%s is in the database", name)
	}
}

// An attacker with a page's client token can submit noise and automated typing. The owner is challenged, completes the challenge,
// and is recognised again after typing.
func TestForgedEvidenceDoesNotLockOutTheOwner(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.action(t, "enforce", object{"claims": object{"operator_continuity": "likely"}, "freshness_max_ms": 3_600_000, "challenge_methods": []string{"passkey"}})
	owner := typist("owner")
	subject := w.enrolled(t, owner)
	d := w.device(t, subject)

	// The attacker submits another person's typing, a program's typing, repeated frames and typed text to the owner's session.
	const origin = "https://app.example"
	session := w.session(t, subject, "score", owner, 3)
	page := caller{base: shared.baseURL, key: w.Server.post(t, "/api/v1/client-tokens", object{"subject": subject, "origin": origin}).is(201).string("client_token")}.with("Origin", origin)
	program := owner.Type(frameKeys)
	for i := range program {
		program[i].Press, program[i].Release = float64(100*i), float64(100*i+40)
	}
	stranger, start := typist("another person"), time.Now().Add(-10*time.Minute)
	once := stranger.Frame(frameKeys)
	for n, noise := range []any{
		stranger.Frame(frameKeys), stranger.Frame(frameKeys), stranger.Frame(frameKeys), features.Extract(features.Raw{Keys: program, ClockMS: 1}),
		features.Extract(features.Raw{Keys: program, ClockMS: 1}), once, once, once, object{"typed": "hunter2"}, object{"schema": features.SchemaVersion},
	} {
		frame := evidence(stranger, "score", start, n)
		frame["frame_id"], frame["features"] = fmt.Sprint("noise-", n), noise
		page.post(t, "/api/v1/sessions/"+session+"/evidence", frame)
	}
	require.Equal(t, "detected", claim(w.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200).value("claims"), "evidence_replay"), "the noise is detected")

	asked := w.authorize(t, subject, action, "challenge").string("challenge.id")
	receipt := w.Server.post(t, "/api/v1/challenges/"+asked+"/complete", object{"method": "passkey", "assertion": w.sign(t, d, asked)}).is(200)
	require.Equal(t, "allow", w.Server.get(t, "/api/v1/authorizations/"+receipt.string("authorization")).is(200).string("decision"))

	w.session(t, subject, "score", owner, 6)
	w.authorize(t, subject, action, "allow")
	require.Equal(t, "active", w.Server.get(t, "/api/v1/subjects/"+subject).is(200).string("status"))
}
