package countersign_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// The wire kit is the data that every SDK must pass; sdk/kit/README.md describes it.
func kit(t *testing.T, name string, out any) {
	t.Helper()
	text, err := os.ReadFile("../kit/" + name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, out))
}

type expectation struct {
	Action, Subject, Nonce string
	Resource               struct{ Type, ID string }
	Context                map[string]any
}

func TestKitProofs(t *testing.T) {
	t.Parallel()
	var set struct {
		Issuer, Environment, Audience string
		Now                           int64
		Expect                        expectation
		JWKS                          json.RawMessage
		Cases                         []struct {
			Name, Guard, Proof, Code string
			Expect                   struct{ Context map[string]any }
			Now                      int64
			Leeway                   int
			JWKS                     json.RawMessage
		}
	}
	kit(t, "proofs.json", &set)
	for _, c := range set.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			keys, context, now := set.JWKS, set.Expect.Context, set.Now
			if c.JWKS != nil {
				keys = c.JWKS
			}
			if c.Expect.Context != nil {
				context = c.Expect.Context
			}
			if c.Now != 0 {
				now = c.Now
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(keys) }))
			t.Cleanup(server.Close)
			v := &proof.Verifier{Keys: proof.NewRemote(server.URL, nil), Issuer: set.Issuer, Environment: set.Environment, Audience: set.Audience,
				Leeway: time.Duration(c.Leeway) * time.Second, Now: func() time.Time { return time.Unix(now, 0) }}
			digest, err := proof.ContextDigest(context)
			require.NoError(t, err)
			x := set.Expect
			_, err = v.Verify(t.Context(), c.Proof, proof.Expect{Action: x.Action, Subject: x.Subject, ResourceType: x.Resource.Type,
				ResourceID: x.Resource.ID, Nonce: x.Nonce, Context: digest})
			if c.Code == "" {
				require.NoError(t, err)
				return
			}
			var refused *proof.Error
			require.ErrorAs(t, err, &refused, "guard %s", c.Guard)
			require.Contains(t, strings.Split(c.Code, "|"), refused.Code)
		})
	}
}

func TestKitCanonicalJSON(t *testing.T) {
	t.Parallel()
	var set struct {
		Cases   []struct{ Name, JSON, Canonical string }
		Refused []struct{ Name, JSON string }
	}
	kit(t, "canonical.json", &set)
	for _, c := range set.Cases {
		canonical, err := proof.Canonical(json.RawMessage(c.JSON))
		require.NoError(t, err, c.Name)
		require.Equal(t, c.Canonical, string(canonical), c.Name)
	}
	for _, c := range set.Refused {
		_, err := proof.Canonical(json.RawMessage(c.JSON))
		require.Error(t, err, c.Name)
	}
}

// outcome names what a client made of a response, as the kit does.
func outcome(err error) string {
	var refused *countersign.Error
	var garbled *countersign.ProtocolError
	switch {
	case err == nil:
		return "decision"
	case countersign.RateLimited(err):
		return "rate_limited"
	case errors.As(err, &garbled) && garbled.Status < 400:
		return "protocol_error"
	case countersign.Unavailable(err):
		return "unavailable"
	case errors.As(err, &refused), errors.As(err, &garbled):
		return "refused"
	}
	return err.Error()
}

func TestKitResponses(t *testing.T) {
	t.Parallel()
	var set struct {
		Recorded []struct{ Request countersign.AuthorizeRequest }
		Cases    []struct {
			Name, Guard, Body, Outcome, Code string
			Of, Status                       int
			Headers                          map[string]string
			RetryAfter                       int `json:"retry_after"`
			Length                           int `json:"content_length"`
		}
	}
	kit(t, "responses.json", &set)
	for _, c := range set.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range c.Headers {
					w.Header().Set(name, value)
				}
				if c.Length > 0 {
					w.Header().Set("Content-Length", strconv.Itoa(c.Length))
				}
				w.WriteHeader(c.Status)
				_, _ = io.WriteString(w, c.Body)
			}))
			t.Cleanup(server.Close)
			client, err := countersign.New(server.URL, "sk_test_x", countersign.WithRetries(0))
			require.NoError(t, err)
			_, err = client.Authorize(t.Context(), set.Recorded[c.Of].Request)
			wanted := c.Outcome
			if c.Guard == "length" {
				wanted = "protocol_error" // the status arrived
			}
			require.Equal(t, wanted, outcome(err), "guard %s: %v", c.Guard, err)
			var refused *countersign.Error
			if c.Code != "" {
				require.ErrorAs(t, err, &refused)
				require.Equal(t, c.Code, refused.Code)
			}
			if c.RetryAfter > 0 {
				require.Equal(t, time.Duration(c.RetryAfter)*time.Second, refused.RetryAfter)
			}
		})
	}
}

func TestKitRetries(t *testing.T) {
	t.Parallel()
	var set struct {
		Recorded struct{ Request countersign.AuthorizeRequest }
		Scripts  []struct {
			Name, Guard, Outcome string
			Attempts             int
			Steps                []struct {
				Status  int
				Headers map[string]string
				Body    string
				Drop    bool
			}
		}
	}
	kit(t, "retries.json", &set)
	for _, s := range set.Scripts {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			attempts, keys := 0, map[string]bool{}
			transport := roundTripper(func(r *http.Request) (*http.Response, error) {
				step := s.Steps[attempts%len(s.Steps)]
				attempts++
				var body struct {
					Key string `json:"idempotency_key"`
				}
				_ = json.NewDecoder(r.Body).Decode(&body)
				keys[body.Key] = true
				if step.Drop {
					return nil, errors.New("connection reset by peer")
				}
				header := http.Header{}
				for name, value := range maps.All(step.Headers) {
					header.Set(name, value)
				}
				return &http.Response{StatusCode: step.Status, Header: header, Body: io.NopCloser(strings.NewReader(step.Body)), Request: r}, nil
			})
			client, err := countersign.New("https://countersign.example", "sk_test_x", countersign.WithHTTPClient(&http.Client{Transport: transport}))
			require.NoError(t, err)
			_, err = client.Authorize(t.Context(), set.Recorded.Request)
			require.Equal(t, s.Outcome, outcome(err), "guard %s: %v", s.Guard, err)
			require.Equal(t, s.Attempts, attempts)
			require.Len(t, keys, 1)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
