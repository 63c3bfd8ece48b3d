package integration_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jwk"
	"github.com/lestrrat-go/jwx/v2/jws"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/subject/signal"
	"github.com/countersign-dev/countersign/models"
)

// issuer is an identity provider that sends security events about the subjects of an environment.
type issuer struct {
	t      *testing.T
	w      world
	server *httptest.Server
	key    *ecdsa.PrivateKey
	kid    string
	stream signal.Stream
	token  string // with which it pushes

	mu    sync.Mutex
	queue map[string]string // tokens to be polled, by their id
	polls []object
}

const signalAudience = "https://countersign.example/receiver"

// newIssuer sets an issuer up in an environment that does not require a second approver.
func newIssuer(t *testing.T, w world, effects map[string]models.SignalEffects) *issuer {
	t.Helper()
	i := startIssuer(t, w)
	made, err := changes().SetSignals(t.Context(), w.scope(), change.By{Actor: "cli:test"}, i.settings(effects))
	require.NoError(t, err)
	require.Nil(t, made.Requested)
	i.ready()
	return i
}

func changes() *change.Service {
	return change.New(change.Deps{
		Store: shared.Store, Clock: shared.Clock, Actions: action.New(shared.Store, shared.Clock), Tenancy: shared.Tenancy, Teams: shared.Teams, Lists: shared.Lists,
		Signals: shared.Signals, Destinations: shared.LogDestinations,
	})
}

func startIssuer(t *testing.T, w world) *issuer {
	t.Helper()
	i := &issuer{t: t, w: w, queue: map[string]string{}}
	i.rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /keys", func(out http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		public, err := jwk.FromRaw(i.key.PublicKey)
		if err == nil {
			err = public.Set(jwk.KeyIDKey, i.kid)
		}
		if err == nil {
			err = json.NewEncoder(out).Encode(object{"keys": []any{public}})
		}
		if err != nil {
			out.WriteHeader(http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /poll", i.poll)
	i.server = httptest.NewServer(mux)
	t.Cleanup(i.server.Close)
	return i
}

func (i *issuer) rotate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	var err error
	i.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(i.t, err)
	i.kid = uuid.NewString()
}

func (i *issuer) settings(effects map[string]models.SignalEffects) change.SignalStream {
	return change.SignalStream{Name: "company", Issuer: i.server.URL, Audience: signalAudience, KeysURL: i.server.URL + "/keys", Effects: effects}
}

// ready reads the stream that was set up, and has a token to push issued.
func (i *issuer) ready() {
	i.t.Helper()
	streams, err := shared.Signals.List(i.t.Context(), i.w.scope())
	require.NoError(i.t, err)
	require.Len(i.t, streams, 1)
	i.stream = streams[0]
	i.token, err = shared.Signals.IssuePushToken(i.t.Context(), i.w.scope(), "company", "cli:test")
	require.NoError(i.t, err)
}

// known gives a subject the name by which the issuer knows it.
func (i *issuer) known(subject string) object {
	i.t.Helper()
	id := object{"format": "iss_sub", "iss": i.server.URL, "sub": "sub-" + subject}
	i.w.Server.do(i.t, "PUT", "/api/v1/subjects/"+subject+"/aliases", object{"aliases": []object{id, {"format": "email", "email": subject + "@company.example"}}}).is(200)
	return id
}

const caep = "https://schemas.openid.net/secevent/caep/event-type/"

// claims are those of a token with one event about a subject; a change with the value nil removes a claim.
func (i *issuer) claims(kind string, subject object, event, changed object) object {
	out := object{"iss": i.server.URL, "aud": signalAudience, "iat": time.Now().Unix(), "jti": uuid.NewString(), "sub_id": subject, "events": object{kind: event}}
	if event == nil {
		out["events"] = object{kind: object{"event_timestamp": time.Now().Unix()}}
	}
	maps.Copy(out, changed)
	for name, value := range changed {
		if value == nil {
			delete(out, name)
		}
	}
	return out
}

func (i *issuer) sign(claims, header object) string {
	i.t.Helper()
	h := jws.NewHeaders()
	for name, value := range with(object{"typ": "secevent+jwt", "kid": i.kid}, header) {
		require.NoError(i.t, h.Set(name, value))
	}
	payload, err := json.Marshal(claims)
	require.NoError(i.t, err)
	out, err := jws.Sign(payload, jws.WithKey(jwa.ES256, i.key, jws.WithProtectedHeaders(h)))
	require.NoError(i.t, err)
	return string(out)
}

type pushed struct {
	status int
	header http.Header
	body   string
}

// push sends a token as RFC 8935 says.
func (i *issuer) push(token string, header ...string) pushed {
	i.t.Helper()
	return i.pushTo(i.stream.PushURL, token, header...)
}

func (i *issuer) pushTo(address, token string, header ...string) pushed {
	i.t.Helper()
	req, err := http.NewRequestWithContext(i.t.Context(), http.MethodPost, shared.baseURL+address[len(shared.BaseURL):], bytes.NewReader([]byte(token)))
	require.NoError(i.t, err)
	req.Header.Set("Content-Type", "application/secevent+jwt")
	req.Header.Set("Authorization", "Bearer "+i.token)
	for n := 0; n < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(i.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(i.t, err)
	return pushed{res.StatusCode, res.Header, string(body)}
}

// report pushes an event about a subject, which must be taken.
func (i *issuer) report(kind string, subject, event object) {
	i.t.Helper()
	got := i.push(i.sign(i.claims(kind, subject, event, nil), nil))
	require.Equal(i.t, http.StatusAccepted, got.status, got.body)
	require.Empty(i.t, got.body)
}

// poll is the issuer's endpoint of RFC 8936.
func (i *issuer) poll(out http.ResponseWriter, in *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var body object
	if in.Header.Get("Authorization") != "Bearer poll-secret" || json.NewDecoder(in.Body).Decode(&body) != nil {
		out.WriteHeader(http.StatusUnauthorized)
		return
	}
	i.polls = append(i.polls, body)
	acked, _ := body["ack"].([]any)
	for _, id := range acked {
		delete(i.queue, id.(string))
	}
	refused, _ := body["setErrs"].(object)
	for id := range refused {
		delete(i.queue, id)
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(object{"sets": i.queue})
}

// A security event ends what was open for its subject within the request that brings it, and nothing that was opened later.
func TestSignalEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	i := newIssuer(t, w, nil)
	subject, other := w.subject(t), w.subject(t)
	id := i.known(subject)
	i.known(other)
	_, allowed := w.action(t, "enforce", allowing)
	open := func(of string) (session, proof string) {
		session = w.Server.post(t, "/api/v1/sessions", object{"subject": of}).is(201).string("id")
		return session, w.authorize(t, of, allowed, "allow").string("proof_id")
	}
	state := func(session, proof string) []string {
		return []string{
			w.Server.get(t, "/api/v1/sessions/"+session+"/status").is(200).string("status"), w.Server.get(t, "/api/v1/proofs/"+proof+"/status").is(200).string("status"),
		}
	}
	session, proof := open(subject)
	theirs, theirProof := open(other)
	late := time.Now().Add(-time.Hour).Unix()
	i.report(caep+"session-revoked", id, object{"event_timestamp": late})
	require.Equal(t, []string{"active", "active"}, state(session, proof), "they were opened after what is reported")
	sent := time.Now()
	i.report(caep+"session-revoked", id, nil)
	require.Equal(t, []string{"ended", "revoked"}, state(session, proof))
	t.Logf("from the signal to the voided proof, as read from the API: %s", time.Since(sent))
	require.Equal(t, []string{"active", "active"}, state(theirs, theirProof))
	w.authorize(t, subject, allowed, "allow")

	// A credential change requires a challenge for a time, from when it happened.
	i.report(caep+"credential-change", id, object{"event_timestamp": time.Now().Add(-25 * time.Hour).Unix()})
	w.authorize(t, subject, allowed, "allow")
	i.report(caep+"credential-change", id, object{"event_timestamp": time.Now().Add(-23 * time.Hour).Unix(), "change_type": "update", "credential_type": "password"})
	asked := w.authorize(t, subject, allowed, "challenge")
	require.Contains(t, asked.value("reason_codes"), "security_event")
	challenge := asked.string("challenge.id")
	w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", object{"method": "sandbox_confirm"}).is(200)
	require.Equal(t, "allow", w.decided(t, challenge).string("decision"))
	w.intact(t)
}

// Nothing ends a person for ever, unless the operator says so.
func TestSignalRevokesOnlyByTheOperatorsChoice(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	i := newIssuer(t, w, map[string]models.SignalEffects{"account-disabled": {Revoke: true}, "session-revoked": {}})
	subject := w.subject(t)
	id := i.known(subject)
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	i.report(caep+"session-revoked", id, nil)
	require.Equal(t, "active", w.Server.get(t, "/api/v1/sessions/"+session+"/status").is(200).string("status"), "the operator's table replaces the default")
	i.report("https://schemas.openid.net/secevent/risc/event-type/account-disabled", id, object{"reason": "hijacking"})
	require.Equal(t, "revoked", w.Server.get(t, "/api/v1/subjects/"+subject).is(200).string("status"))
	newest, err := shared.Signals.Newest(t.Context(), w.scope(), i.stream.ID)
	require.NoError(t, err)
	require.Equal(t, models.Strings{signal.EffectRevoke}, newest[0].Effects)
	require.Equal(t, subject, newest[0].Subject)
	page := w.signedIn(t, models.RoleOperator).get("/console/" + w.ID + "/signals").body
	require.Regexp(t, `(?s)<code>account-disabled</code>.*?>`+subject+`<.*?>revoked the subject<.*<code>session-revoked</code>.*?>`+subject+`<.*?>nothing<`, page, "the newest first")
	w.intact(t)
}

// The console shows the newest fifty events of an issuer, whatever came before.
func TestConsoleShowsTheLastFiftySignals(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	i := newIssuer(t, w, nil)
	first, later := w.subject(t), w.subject(t)
	id := i.known(first)
	i.report(caep+"session-revoked", id, nil)
	id = i.known(later)
	page := func() string { return w.signedIn(t, models.RoleOperator).get("/console/" + w.ID + "/signals").body }
	for range 49 {
		i.report(caep+"session-revoked", id, nil)
	}
	require.Equal(t, 50, strings.Count(page(), "<code>session-revoked</code>"))
	require.Contains(t, page(), first)
	i.report(caep+"session-revoked", id, nil)
	require.Equal(t, 50, strings.Count(page(), "<code>session-revoked</code>"))
	require.NotContains(t, page(), first, "the oldest of 51")
	newest, err := shared.Signals.Newest(t.Context(), w.scope(), i.stream.ID)
	require.NoError(t, err)
	require.Len(t, newest, 50)
}

// Rules read what was reported, also before the decision that a simulation makes again.
func TestRuleCountsSignals(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	i := newIssuer(t, w, map[string]models.SignalEffects{"token-claims-change": {}, "device-compliance-change": {}})
	subject := w.subject(t)
	id := i.known(subject)
	path, action := w.ruled(t, "transfer.watched", rule("watched", `subject.signals("token-claims-change", "24h") >= 1 || subject.signals("device-compliance-change", "24h") > 0`, holdMatched))
	decide := func() string {
		return w.Server.post(t, "/api/v1/authorize", transfer(subject, action, "10")).is(200).string("decision")
	}
	require.Equal(t, "allow", decide())
	i.report(caep+"device-compliance-change", id, object{"current_status": "compliant", "previous_status": "not-compliant", "event_timestamp": time.Now().Unix()})
	i.report(caep+"token-claims-change", id, object{"event_timestamp": time.Now().Add(-25 * time.Hour).Unix()})
	require.Equal(t, "allow", decide(), "a risk that became smaller and an event of before the window do not count")
	i.report(caep+"token-claims-change", id, object{"claims": object{"role": "admin"}, "event_timestamp": time.Now().Add(-23 * time.Hour).Unix()})
	require.Equal(t, "hold", decide())

	simulated := w.Server.post(t, path+"/policy-versions/1/simulate", object{}).is(200)
	require.InDelta(t, 2, simulated.value("after.allow"), 0)
	require.InDelta(t, 1, simulated.value("after.hold"), 0)
	for _, wrong := range []string{`subject.signals("unknown", "24h") > 0`, `subject.signals("session-revoked", "1y") > 0`, `subject.signals(context.purpose, "24h") > 0`} {
		w.Server.post(t, path+"/policy-versions", object{"requirements": with(allowing, object{"rules": []object{rule("wrong", wrong, holdMatched)}})}).is(422)
	}
}

// A second principal approves whose word counts.
func TestSignalsUnderFourEyes(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	i := startIssuer(t, w)
	w.Admin.patch(t, "/api/v1/environment", object{"second_approver_required": true}).is(200)
	decide := func(made change.Made[change.SignalStream], err error) {
		t.Helper()
		require.NoError(t, err)
		require.NotNil(t, made.Requested)
		w.Admin.post(t, "/api/v1/changes/"+made.Requested.ID+"/approve", nil).is(200)
	}
	made, err := changes().SetSignals(t.Context(), w.scope(), change.By{Actor: "cli:test"}, i.settings(nil))
	streams, listed := shared.Signals.List(t.Context(), w.scope())
	require.NoError(t, listed)
	require.Empty(t, streams)
	decide(made, err)
	i.ready()
	i.report(caep+"session-revoked", i.known(w.subject(t)), nil)
	decide(changes().RemoveSignals(t.Context(), w.scope(), change.By{Actor: "cli:test"}, "company"))
	require.Equal(t, http.StatusUnauthorized, i.push("").status)
	require.Equal(t, 1, count(t, "select count(*) from signals where environment_id = $1", w.ID))
	w.intact(t)
}

// The issuer's queue is polled, and each token is acknowledged or refused by its id.
func TestSignalsArePolled(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	i := startIssuer(t, w)
	settings := i.settings(nil)
	settings.PollURL = i.server.URL + "/poll"
	_, err := changes().SetSignals(t.Context(), w.scope(), change.By{Actor: "cli:test"}, settings)
	require.NoError(t, err)
	i.ready()
	subject := w.subject(t)
	id := i.known(subject)
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	good, bad := i.claims(caep+"session-revoked", id, nil, nil), i.claims(caep+"session-revoked", id, nil, object{"aud": "https://elsewhere.example"})
	i.mu.Lock()
	i.queue[good["jti"].(string)], i.queue[bad["jti"].(string)] = i.sign(good, nil), i.sign(bad, nil)
	i.mu.Unlock()
	require.NoError(t, shared.Signals.SetPollToken(t.Context(), w.scope(), "company", "poll-secret", "cli:test"))
	eventually(t, func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		return len(i.queue) == 0
	}, "both have a response")
	require.Equal(t, "ended", w.Server.get(t, "/api/v1/sessions/"+session+"/status").is(200).string("status"))
	i.mu.Lock()
	defer i.mu.Unlock()
	settled := i.polls[1]
	require.Equal(t, []any{good["jti"]}, settled["ack"])
	require.Equal(t, "invalid_audience", settled["setErrs"].(object)[bad["jti"].(string)].(object)["err"])
	w.intact(t)
}

// embedded is a key as a header has it, which no receiver may believe.
func embedded(t *testing.T) any {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := jwk.FromRaw(key.PublicKey)
	require.NoError(t, err)
	return public
}

func unsigned(claims object) string {
	payload, _ := json.Marshal(claims)
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"secevent+jwt"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload) + "."
}

// An issuer that pushes too fast has to wait, and delays no other.
func TestSignalsBeyondTheRateAreRefused(t *testing.T) {
	t.Parallel()
	i, other := newIssuer(t, newSandbox(t), nil), newIssuer(t, newSandbox(t), nil)
	var refused atomic.Pointer[pushed]
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range 100 {
				if refused.Load() != nil {
					return
				}
				if got := i.push("no token"); got.status == http.StatusTooManyRequests {
					refused.Store(&got)
				}
			}
		})
	}
	all.Wait()
	got := refused.Load()
	require.NotNil(t, got, "more than 100 tokens a second were taken")
	require.Equal(t, "1", got.header.Get("Retry-After"))
	require.JSONEq(t, `{"err": "access_denied", "description": "The issuer sent more than 100 tokens within a second."}`, got.body)
	require.Equal(t, http.StatusBadRequest, other.push("no token").status)
}
