package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/sdk/go/events"
)

// The example of the Standard Webhooks specification's own libraries.
const (
	secret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	id        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	stamp     = "1614265330"
	body      = `{"test": 2432232314}`
	signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func headers(change func(http.Header)) http.Header {
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", signature)
	if change != nil {
		change(h)
	}
	return h
}

func at(t *testing.T, seconds int64, secrets ...string) *Verifier {
	t.Helper()
	v, err := New(secrets...)
	require.NoError(t, err)
	v.now = func() time.Time { return time.Unix(seconds, 0) }
	return v
}

func TestTheSpecificationsExampleVerifies(t *testing.T) {
	t.Parallel()
	e, err := at(t, 1614265330, secret).Verify(headers(nil), []byte(body))
	require.NoError(t, err)
	require.Equal(t, id, e.ID)
}

func TestForgeriesAreRefused(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }
	for name, tc := range map[string]struct {
		change func(http.Header)
		body   string
		now    int64
		want   error
	}{
		"another body":      {nil, body + " ", 1614265330, ErrSignature},
		"another id":        {set("webhook-id", "msg_other"), body, 1614265330, ErrSignature},
		"another time":      {set("webhook-timestamp", "1614265331"), body, 1614265330, ErrSignature},
		"too old":           {nil, body, 1614265330 + 301, ErrTimestamp},
		"too new":           {nil, body, 1614265330 - 301, ErrTimestamp},
		"no id":             {set("webhook-id", ""), body, 1614265330, ErrHeaders},
		"no time":           {set("webhook-timestamp", "soon"), body, 1614265330, ErrHeaders},
		"no signature":      {set("webhook-signature", ""), body, 1614265330, ErrHeaders},
		"another version":   {set("webhook-signature", "v2"+signature[2:]), body, 1614265330, ErrSignature},
		"no base64":         {set("webhook-signature", "v1,%%%"), body, 1614265330, ErrSignature},
		"an empty one":      {set("webhook-signature", "v1,"), body, 1614265330, ErrSignature},
		"a shortened one":   {set("webhook-signature", "v1,g0hM"), body, 1614265330, ErrSignature},
		"the edge, old":     {nil, body, 1614265330 + 300, nil},
		"one good of three": {set("webhook-signature", "v1,AAAA v1a,x "+signature), body, 1614265330, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := at(t, tc.now, secret).Verify(headers(tc.change), []byte(tc.body))
			require.ErrorIs(t, err, tc.want)
		})
	}
}

func TestTwoSecretsOverlap(t *testing.T) {
	t.Parallel()
	other := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	_, err := at(t, 1614265330, other, secret).Verify(headers(nil), []byte(body))
	require.NoError(t, err)
	_, err = at(t, 1614265330, other).Verify(headers(nil), []byte(body))
	require.ErrorIs(t, err, ErrSignature)
}

func TestARequestIsReadToItsBound(t *testing.T) {
	t.Parallel()
	text := `{"type":"hold.opened","timestamp":"2026-11-21T09:30:00.000Z","data":{"authorization":"azn_1"},"display":{"details":[{"label":"Payee","value":"Eve"}]}}`
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "." + text))
	r := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(text))
	r.Header = headers(func(h http.Header) { h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))) })
	e, err := at(t, 1614265330, secret).Read(r)
	require.NoError(t, err)
	require.Equal(t, "hold.opened", e.Type)
	require.JSONEq(t, `{"authorization":"azn_1"}`, string(e.Data))
	require.Equal(t, []Detail{{Label: "Payee", Value: "Eve"}}, e.Display.Details)
	payload, err := e.Payload()
	require.NoError(t, err)
	require.Equal(t, &events.HoldOpened{Authorization: "azn_1"}, payload)

	r = httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(strings.Repeat("x", maxBody+1)))
	_, err = at(t, 1614265330, secret).Read(r)
	require.ErrorContains(t, err, "too large")
}

func TestASecretMustBeOne(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "whsec_", "whsec_AAAA", "not base64!"} {
		_, err := New(s)
		require.Error(t, err)
	}
	_, err := New()
	require.Error(t, err)
}
