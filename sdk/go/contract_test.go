package countersign

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/sdk/go/internal/damage"
)

// recorded are the four decisions of a running service, allow first.
func recorded(tb testing.TB) []damage.Recorded {
	tb.Helper()
	text, err := os.ReadFile("testdata/decisions.json")
	require.NoError(tb, err)
	var out []damage.Recorded
	require.NoError(tb, json.Unmarshal(text, &out))
	require.Len(tb, out, 4)
	require.Contains(tb, out[0].Answer, `"decision":"allow"`)
	return out
}

func requestOf(tb testing.TB, r damage.Recorded) AuthorizeRequest {
	tb.Helper()
	var asked AuthorizeRequest
	require.NoError(tb, json.Unmarshal(r.Request, &asked))
	return asked
}

// given is a client that is given this answer whatever it asks.
func given(tb testing.TB, a http.RoundTripper) *Client {
	tb.Helper()
	c, err := New("https://countersign.example", "sk_test_x", WithHTTPClient(&http.Client{Transport: a}), WithRetries(0))
	require.NoError(tb, err)
	return c
}

func TestAuthorizeReturnsEveryUndamagedDecision(t *testing.T) {
	t.Parallel()
	for i, want := range []Decision{DecisionAllow, DecisionChallenge, DecisionHold, DecisionDeny} {
		r := recorded(t)[i]
		got, err := given(t, damage.Whole(r)).Authorize(t.Context(), requestOf(t, r))
		require.NoError(t, err)
		require.Equal(t, want, got.Decision)
	}
}

func TestAuthorizeToleratesAddedFields(t *testing.T) {
	t.Parallel()
	r := recorded(t)[0]
	a := damage.Whole(r)
	a.Body = []byte(strings.Replace(r.Answer, `"assurance":{`, `"added":{"by":["a later version"]},"assurance":{"added":1,`, 1))
	a.ContentType = "Application/JSON; charset=utf-8"
	_, err := given(t, a).Authorize(t.Context(), requestOf(t, r))
	require.NoError(t, err)
}

func TestAuthorizeNeverAllowsByADamagedAnswer(t *testing.T) {
	t.Parallel()
	set, rng, kinds := recorded(t), rand.New(rand.NewPCG(17, 0)), map[string]int{}
	asked := make([]AuthorizeRequest, len(set))
	for i := range set {
		asked[i] = requestOf(t, set[i])
	}
	for n := range 10_000 {
		a := damage.One(rng, set)
		kinds[a.Kind]++
		got, err := given(t, a).Authorize(t.Context(), asked[a.Of])
		if err == nil && a.Readable {
			require.NotEqual(t, DecisionAllow, got.Decision, "answer %d: %s: %s", n, a.Kind, a.Body)
			continue
		}
		refusedAsNotUnderstood(t, err, "answer %d: %s: %.4000s", n, a.Kind, a.Body)
		require.Nil(t, got)
	}
	require.Greater(t, len(kinds), 20)
}

func refusedAsNotUnderstood(t *testing.T, err error, format string, args ...any) {
	t.Helper()
	var garbled *ProtocolError
	if !errors.As(err, &garbled) || Unavailable(err) == (garbled.Status >= 400 && garbled.Status < 500) {
		require.Fail(t, "not a ProtocolError", "%v\n%s", err, fmt.Sprintf(format, args...))
	}
}

func FuzzAuthorize(f *testing.F) {
	set, rng := recorded(f), rand.New(rand.NewPCG(17, 1))
	for _, r := range set {
		f.Add(200, "application/json", []byte(r.Answer))
	}
	for range 100 {
		if a := damage.One(rng, set); len(a.Body) < 1<<20 {
			f.Add(a.Status, a.ContentType, a.Body)
		}
	}
	asked := requestOf(f, set[0])
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte) {
		a := damage.Answer{Status: 100 + max(status, -status)%500, ContentType: contentType, Body: body}
		got, err := given(t, a).Authorize(t.Context(), asked)
		var refused *Error
		var garbled *ProtocolError
		switch {
		case errors.As(err, &garbled):
		case errors.As(err, &refused):
			require.GreaterOrEqual(t, a.Status, 400)
		default:
			require.NoError(t, err)
			require.Equal(t, 200, a.Status)
			require.Equal(t, asked.Action, got.Action)
			require.Contains(t, []Decision{DecisionAllow, DecisionChallenge, DecisionHold, DecisionDeny}, got.Decision)
			require.Equal(t, got.Decision == DecisionAllow && got.Mode == ModeEnforce, got.Proof != "")
		}
	})
}

func TestEveryOperationHoldsItsAnswer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	proofs := func(c *Client) error {
		_, err := c.VerifyProof(ctx, ProofVerifyRequest{Proof: "a.b.c", Audience: "bank.example", Consume: true})
		return err
	}
	complete := func(c *Client) error {
		_, err := c.CompleteChallenge(ctx, "chl_1", ChallengeCompleteRequest{Method: "passkey"})
		return err
	}
	status := func(c *Client) error { _, err := c.GetProofStatus(ctx, "prf_1"); return err }
	list := func(c *Client) error { _, err := c.ListSubjects(ctx, ListSubjectsParams{}); return err }
	archive := func(c *Client) error { return c.ArchiveAction(ctx, "act_1") }
	const claims = `{"iss":"i","sub":"s","aud":"bank.example","iat":1,"nbf":1,"exp":2,"jti":"prf_1"}`
	for name, tc := range map[string]struct {
		call   func(*Client) error
		status int
		body   string
		good   bool
	}{
		"valid and consumed":                {proofs, 200, `{"valid":true,"status":"consumed","reason_codes":[],"claims":` + claims + `}`, true},
		"not valid":                         {proofs, 200, `{"valid":false,"status":"unknown","reason_codes":["proof_unknown"],"claims":null}`, true},
		"valid without a status":            {proofs, 200, `{"valid":true,"reason_codes":[],"claims":` + claims + `}`, false},
		"valid and not consumed":            {proofs, 200, `{"valid":true,"status":"active","reason_codes":[],"claims":` + claims + `}`, false},
		"valid and revoked":                 {proofs, 200, `{"valid":true,"status":"revoked","reason_codes":[],"claims":` + claims + `}`, false},
		"valid with a reason why not":       {proofs, 200, `{"valid":true,"status":"consumed","reason_codes":["proof_expired"],"claims":` + claims + `}`, false},
		"valid without claims":              {proofs, 200, `{"valid":true,"status":"consumed","reason_codes":[],"claims":null}`, false},
		"valid for another":                 {proofs, 200, `{"valid":true,"status":"consumed","reason_codes":[],"claims":` + strings.Replace(claims, "bank", "shop", 1) + `}`, false},
		"valid as a word":                   {proofs, 200, `{"valid":"true","status":"consumed","reason_codes":[],"claims":` + claims + `}`, false},
		"nothing about a proof":             {proofs, 200, `{}`, false},
		"completed":                         {complete, 200, `{"challenge":"chl_1","status":"completed","authorization":"azn_1","method":"passkey"}`, true},
		"another challenge":                 {complete, 200, `{"challenge":"chl_2","status":"completed","authorization":"azn_1","method":"passkey"}`, false},
		"not completed":                     {complete, 200, `{"challenge":"chl_1","status":"open","authorization":"azn_1","method":"passkey"}`, false},
		"a status":                          {status, 200, `{"jti":"prf_1","status":"active","expires_at":null}`, true},
		"an unknown status":                 {status, 200, `{"jti":"prf_1","status":"fine"}`, false},
		"the status of another":             {status, 200, `{"jti":"prf_2","status":"active"}`, false},
		"no time":                           {status, 200, `{"jti":"prf_1","status":"active","expires_at":"tomorrow"}`, false},
		"an empty list":                     {list, 200, `[]`, true},
		"a list of something else":          {list, 200, `[{"id":"a"}]`, false},
		"an object for a list":              {list, 200, `{}`, false},
		"done":                              {archive, 204, ``, true},
		"a page for done":                   {archive, 200, `<html>`, false},
		"a refusal that the service gives":  {status, 404, `{"code":"not_found"}`, false},
		"a refusal that something else has": {status, 404, `<html>not found</html>`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.call(given(t, damage.Answer{Status: tc.status, ContentType: "application/json", Body: []byte(tc.body)}))
			if tc.good {
				require.NoError(t, err)
				return
			}
			if IsCode(err, CodeNotFound) {
				require.Contains(t, tc.body, "code")
				return
			}
			refusedAsNotUnderstood(t, err, "%s", name)
		})
	}
}

func TestAnAnswerThatDoesNotUnpackIsNotUnderstood(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = fmt.Fprint(w, "\x1f\x8b\x08 not gzip")
	}))
	t.Cleanup(server.Close)
	c, err := New(server.URL, "sk_test_x", WithRetries(0))
	require.NoError(t, err)
	_, err = c.GetSubject(t.Context(), "user-1")
	refusedAsNotUnderstood(t, err, "gzip")
}

func TestAStreamThatIsNoneIsNotUnderstood(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]damage.Answer{
		"a page":                   {Status: 200, ContentType: "text/html", Body: []byte("<html>")},
		"nothing":                  {Status: 204},
		"a redirect":               {Status: 302},
		"a page's refusal":         {Status: 403, ContentType: "text/html", Body: []byte("<html>")},
		"an event that is no JSON": {Status: 200, ContentType: "text/event-stream", Body: []byte("event: hold.opened\ndata: {\"id\n\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, err := range given(t, a).StreamEvents(t.Context(), StreamParams{}) {
				refusedAsNotUnderstood(t, err, "%s", name)
			}
		})
	}
}

func TestARedirectIsNotFollowedWithAClientOfTheCaller(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		require.Fail(t, "the redirect was followed")
	}))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	t.Cleanup(server.Close)
	c, err := New(server.URL, "sk_test_x", WithHTTPClient(&http.Client{}))
	require.NoError(t, err)
	_, err = c.GetSubject(t.Context(), "user-1")
	refusedAsNotUnderstood(t, err, "redirect")
}

func TestErrorsOfAnswersQuoteNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"secret-name":"secret-value"}`, `{"jti":"secret-value","status":"secret-value"}`, `secret-value`} {
		_, err := given(t, damage.Answer{Status: 200, ContentType: "application/json", Body: []byte(body)}).GetProofStatus(t.Context(), "prf_1")
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}
