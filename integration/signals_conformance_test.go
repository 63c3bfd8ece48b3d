package integration_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The modules of the OpenID conformance suite (openid-certification/conformance-suite, OIDSSFReceiverTestPlan and OIDSSFReceiverTestPlanCaepInterop), each with
// its test. "push" are cases of TestSignalReceiverConformance, "poll" is TestSignalsArePolled.
//
//	openid-ssf-receiver-happy-path                                        push and poll
//	openid-ssf-receiver-stream-verification                               "verification with state"
//	openid-ssf-receiver-unsolicited-stream-verification                   "verification without state"
//	openid-ssf-receiver-verification-behind-queued-events                 "verification" among others, in any order
//	openid-ssf-receiver-stream-caep-interop (CAEPIOP-2.5)                 "iss_sub", "email", "complex"
//	openid-ssf-receiver-supported-events                                  TestSignalReceiverTakesEveryEvent
//	openid-ssf-receiver-redelivered-set (RFC8935-2, RFC8936-2.4)          TestSignalsAreTakenOnce
//	openid-ssf-receiver-removed-subject-event                             "unknown subject"
//	openid-ssf-receiver-transmitter-initiated-status-change               "stream-updated"
//	openid-ssf-receiver-invalid-set-rejection: INVALID_SIGNATURE          "corrupted signature"
//	openid-ssf-receiver-invalid-set-rejection: UNKNOWN_KID                "key that is not published", foreignjwt.TestWithdrawnKeysEnd
//	openid-ssf-receiver-invalid-set-rejection: WRONG_ISSUER               "wrong issuer"
//	openid-ssf-receiver-invalid-set-rejection: WRONG_AUDIENCE             "wrong audience"
//	EnsureReceiverRejectedPushDelivery, ValidatePushDeliveryErrorResponse every refusal: 400, JSON with err and description
//	WarnPushDeliveryErrorCodeNotRegistered, -Mismatch                     every refusal: the code of its case
//
// The others are about requests that this receiver does not make, because an operator registers it at the transmitter: -stream-create-delete,
// -stream-status-update, -stream-issuer-mismatch and -access-token-expiry manage a stream; -verification-wrong-state and -wrong-subject need a verification that
// the receiver asked for, with a state of its own. Events of a verification do nothing here, whatever they name.
func TestSignalReceiverConformance(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	i := newIssuer(t, w, nil)
	subject := w.subject(t)
	id := i.known(subject)
	foreign := startIssuer(t, w)
	mail := object{"format": "email", "email": strings.ToUpper(subject) + "@Company.example"}
	const kind, about = caep + "session-revoked", "https://schemas.openid.net/secevent/ssf/event-type/"
	valid := func(changed object) string { return i.sign(i.claims(kind, id, nil, changed), nil) }
	signature := func(token string) string { return token[:len(token)-4] + "AAAA" }
	for name, c := range map[string]struct {
		token string
		err   string // empty for one that is taken
	}{
		"verification with state":    {i.sign(i.claims(about+"verification", object{"format": "opaque", "id": "stream"}, object{"state": "abc"}, nil), nil), ""},
		"verification without state": {i.sign(i.claims(about+"verification", object{"format": "opaque", "id": "stream"}, object{}, nil), nil), ""},
		"stream-updated":             {i.sign(i.claims(about+"stream-updated", object{"format": "opaque", "id": "stream"}, object{"status": "paused"}, nil), nil), ""},
		"iss_sub":                    {valid(nil), ""},
		"email":                      {i.sign(i.claims(kind, mail, nil, nil), nil), ""},
		"complex":                    {i.sign(i.claims(kind, object{"format": "complex", "user": id, "session": object{"format": "opaque", "id": "s"}}, nil, nil), nil), ""},
		"aliases":                    {i.sign(i.claims(kind, object{"format": "aliases", "identifiers": []object{{"format": "opaque", "id": "x"}, mail}}, nil, nil), nil), ""},
		"subject in the event":       {i.sign(i.claims(kind, nil, object{"subject": id}, object{"sub_id": nil}), nil), ""},
		"unknown subject":            {i.sign(i.claims(kind, object{"format": "email", "email": "nobody@company.example"}, nil, nil), nil), ""},
		"unknown format":             {i.sign(i.claims(kind, object{"format": "phone_number", "phone_number": "+1"}, nil, nil), nil), ""},
		"unknown event":              {i.sign(i.claims("https://company.example/events/other", id, object{"x": 1}, nil), nil), ""},
		"unknown claims":             {valid(object{"txn": "t", "other": object{"a": []int{1}}}), ""},
		"members of other types":     {i.sign(i.claims(kind, id, object{"event_timestamp": "soon", "change_direction": 7}, nil), nil), ""},
		"exp is not needed":          {valid(object{"exp": nil}), ""},
		"several audiences":          {valid(object{"aud": []string{"https://other.example", signalAudience}}), ""},
		"corrupted signature":        {signature(valid(nil)), "invalid_key"},
		"key that is not published":  {foreign.sign(i.claims(kind, id, nil, nil), nil), "invalid_key"},
		"key of the header":          {foreign.sign(i.claims(kind, id, nil, nil), object{"jwk": embedded(t), "kid": i.kid}), "invalid_key"},
		"wrong issuer":               {valid(object{"iss": "https://elsewhere.example"}), "invalid_issuer"},
		"no issuer":                  {valid(object{"iss": nil}), "invalid_issuer"},
		"wrong audience":             {valid(object{"aud": "https://elsewhere.example"}), "invalid_audience"},
		"no audience":                {valid(object{"aud": nil}), "invalid_audience"},
		"sub":                        {valid(object{"sub": "x"}), "invalid_request"},
		"no jti":                     {valid(object{"jti": nil}), "invalid_request"},
		"no iat":                     {valid(object{"iat": nil}), "invalid_request"},
		"iat in the future":          {valid(object{"iat": time.Now().Add(time.Hour).Unix()}), "invalid_request"},
		"iat too old":                {valid(object{"iat": time.Now().AddDate(0, 0, -31).Unix()}), "invalid_request"},
		"no events":                  {valid(object{"events": object{}}), "invalid_request"},
		"an event that is no object": {valid(object{"events": object{kind: "yes"}}), "invalid_request"},
		"typ of an ID token":         {i.sign(i.claims(kind, id, nil, nil), object{"typ": "JWT"}), "invalid_request"},
		"no signature":               {unsigned(i.claims(kind, id, nil, nil)), "invalid_request"},
		"no token":                   {"hello", "invalid_request"},
		"more than 64 kB":            {valid(object{"padding": strings.Repeat("p", 64<<10)}), "invalid_request"},
		"a critical extension":       {i.sign(i.claims(kind, id, nil, nil), object{"crit": []string{"exp"}, "exp": 1}), "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			got := i.push(c.token)
			if c.err == "" {
				require.Equal(t, http.StatusAccepted, got.status, got.body)
				require.Empty(t, got.body)
				require.Empty(t, got.header.Get("Content-Type"))
				return
			}
			require.Equal(t, http.StatusBadRequest, got.status, got.body)
			require.Contains(t, got.header.Get("Content-Type"), "application/json")
			require.Contains(t, got.body, `"err":"`+c.err+`"`)
			require.Contains(t, got.body, `"description":"`)
		})
	}
	require.Equal(t, http.StatusBadRequest, i.push(valid(nil), "Content-Type", "application/json").status)
	streams, err := shared.Signals.List(t.Context(), w.scope())
	require.NoError(t, err)
	require.Equal(t, "paused", streams[0].Status)

	// A key that is not among those that were fetched seconds ago is refused.
	i.rotate()
	require.Equal(t, http.StatusBadRequest, i.push(i.sign(i.claims(kind, id, nil, nil), nil)).status, "the keys were fetched a moment ago, and forged tokens must not become requests")
	w.intact(t)
}

// Every event of the profiles is taken, and what each does is stored.
func TestSignalReceiverTakesEveryEvent(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	i := newIssuer(t, w, nil)
	id := i.known(w.subject(t))
	kinds := map[string]string{
		"session-revoked": "caep", "token-claims-change": "caep", "credential-change": "caep", "assurance-level-change": "caep", "device-compliance-change": "caep", "risk-level-change": "caep",
		"session-established": "caep", "session-presented": "caep",
		"account-credential-change-required": "risc", "account-purged": "risc", "account-disabled": "risc", "account-enabled": "risc", "identifier-changed": "risc",
		"identifier-recycled": "risc", "credential-compromise": "risc", "opt-in": "risc", "opt-out-initiated": "risc", "opt-out-cancelled": "risc", "opt-out-effective": "risc",
		"recovery-activated": "risc", "recovery-information-changed": "risc", "sessions-revoked": "risc",
	}
	for kind, profile := range kinds {
		i.report("https://schemas.openid.net/secevent/"+profile+"/event-type/"+kind, id, nil)
	}
	newest, err := shared.Signals.Newest(t.Context(), w.scope(), i.stream.ID)
	require.NoError(t, err)
	effects := map[string][]string{}
	for _, s := range newest {
		effects[s.Type] = s.Effects
	}
	require.Len(t, effects, 15, "the others are taken and not stored")
	require.Equal(t, []string{"end_sessions", "void_proofs"}, effects["session-revoked"])
	require.Equal(t, []string{"end_sessions", "void_proofs", "challenge"}, effects["account-disabled"])
	require.Empty(t, effects["account-enabled"])
	w.intact(t)
}

// A repeated token is acknowledged without a second effect; a caller learns neither whether it was repeated nor whether its subject is known.
func TestSignalsAreTakenOnce(t *testing.T) {
	t.Parallel()
	w, stranger := newSandbox(t), newSandbox(t)
	i, other := newIssuer(t, w, nil), newIssuer(t, stranger, nil)
	subject := w.subject(t)
	id := i.known(subject)
	open := func() string {
		return w.Server.post(t, "/api/v1/sessions", object{"subject": subject}).is(201).string("id")
	}
	token := i.sign(i.claims(caep+"session-revoked", id, object{"event_timestamp": time.Now().Add(time.Minute).Unix()}, nil), nil)
	first := open()
	known := i.push(token)
	require.Equal(t, "ended", w.Server.get(t, "/api/v1/sessions/"+first+"/status").is(200).string("status"))
	second := open()
	repeated := i.push(token)
	require.Equal(t, "active", w.Server.get(t, "/api/v1/sessions/"+second+"/status").is(200).string("status"))
	unknown := i.push(i.sign(i.claims(caep+"session-revoked", object{"format": "opaque", "id": "nobody"}, nil, nil), nil))
	for _, got := range []pushed{known, repeated, unknown} {
		for _, header := range []string{"Date", "X-Request-Id"} {
			got.header.Del(header)
		}
	}
	require.Equal(t, known, repeated)
	require.Equal(t, known, unknown)
	require.Equal(t, 2, count(t, "select count(*) from signals where environment_id = $1", w.ID))
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'signal.received'", w.ID))

	// The address of another tenant's stream is that of none.
	elsewhere, nowhere := i.pushTo(other.stream.PushURL, token), i.pushTo(i.stream.PushURL+"x", token)
	require.Equal(t, http.StatusNotFound, elsewhere.status)
	require.Equal(t, elsewhere.body, nowhere.body)
	for _, header := range []string{"", "Bearer ", "Bearer set_wrong", "Basic x"} {
		got := i.push(token, "Authorization", header)
		require.Equal(t, http.StatusUnauthorized, got.status, header)
		require.Contains(t, got.body, `"err":"authentication_failed"`)
	}
	before := i.token
	i.ready()
	i.token = before
	require.Equal(t, http.StatusUnauthorized, i.push(token).status, "a new token ends the one of before")
	w.intact(t)
}
