package countersign_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/internal/kit"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

// The wire kit is the data that every SDK must pass (sdk/kit/README.md); its server plays the scripts.
func TestMain(m *testing.M) { kit.Main(m) }

// played runs a test for each case of a file of the kit, with a client of the case, and compares the calls with the script.
func played[C any](t *testing.T, file string, cases []C, named func(C) string, retries int, test func(*testing.T, C, *countersign.Client)) {
	t.Helper()
	for _, c := range cases {
		t.Run(named(c), func(t *testing.T) {
			t.Parallel()
			base, err := kit.Case(file, named(c))
			require.NoError(t, err)
			client, err := countersign.New(base, "sk_test_x", countersign.WithRetries(retries))
			require.NoError(t, err)
			test(t, c, client)
			faults, err := kit.Faults(t.Context(), base)
			require.NoError(t, err)
			require.Empty(t, faults)
		})
	}
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
		Cases                         []struct {
			Name, Guard, Proof, Code string
			Expect                   struct{ Context map[string]any }
			Now                      int64
			Leeway                   int
		}
	}
	require.NoError(t, kit.Read("proofs.json", &set))
	for _, c := range set.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			context, now := set.Expect.Context, set.Now
			if c.Expect.Context != nil {
				context = c.Expect.Context
			}
			if c.Now != 0 {
				now = c.Now
			}
			base, err := kit.Case("proofs", c.Name)
			require.NoError(t, err)
			v := &proof.Verifier{Keys: proof.NewRemote(base, nil), Issuer: set.Issuer, Environment: set.Environment, Audience: set.Audience,
				Leeway: time.Duration(c.Leeway) * time.Second, Now: func() time.Time { return time.Unix(now, 0) }}
			digest, err := proof.ContextDigest(context)
			require.NoError(t, err)
			x := set.Expect
			_, err = v.Verify(t.Context(), c.Proof, proof.Expect{Action: x.Action, Subject: x.Subject, ResourceType: x.Resource.Type,
				ResourceID: x.Resource.ID, Nonce: x.Nonce, Context: digest})
			faults, asked := kit.Faults(t.Context(), base)
			require.NoError(t, asked)
			require.Empty(t, faults)
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
	require.NoError(t, kit.Read("canonical.json", &set))
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

func TestKitRequests(t *testing.T) {
	t.Parallel()
	type call struct {
		Name, Operation string
		Path            map[string]string
		Query           struct {
			Limit  int64
			Cursor string
		}
		Body countersign.AuthorizeRequest
	}
	var set struct{ Cases []call }
	require.NoError(t, kit.Read("requests.json", &set))
	played(t, "requests", set.Cases, func(c call) string { return c.Name }, 0, func(t *testing.T, c call, client *countersign.Client) {
		var err error
		switch c.Operation {
		case "authorize":
			_, err = client.Authorize(t.Context(), c.Body)
		case "createChallengeLink":
			_, err = client.CreateChallengeLink(t.Context(), c.Path["challenge_id"], nil)
		case "listPasskeys":
			_, err = client.ListPasskeys(t.Context(), c.Path["subject_id"], countersign.ListPasskeysParams(c.Query))
		}
		require.NoError(t, err)
	})
}

func TestKitResponses(t *testing.T) {
	t.Parallel()
	type response struct {
		Name, Guard, Outcome, Code string
		Of                         int
		RetryAfter                 *int `json:"retry_after"`
	}
	var set struct {
		Recorded []struct{ Request countersign.AuthorizeRequest }
		Cases    []response
	}
	require.NoError(t, kit.Read("responses.json", &set))
	played(t, "responses", set.Cases, func(c response) string { return c.Name }, 0, func(t *testing.T, c response, client *countersign.Client) {
		_, err := client.Authorize(t.Context(), set.Recorded[c.Of].Request)
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
		if c.RetryAfter != nil {
			require.Equal(t, time.Duration(*c.RetryAfter)*time.Second, refused.RetryAfter)
		}
		require.False(t, c.Outcome == "refused" && c.Code == "" && errors.As(err, &refused), "a code that is not of the service: %v", err)
	})
}

// scripted is a script of responses to one call.
type scripted struct {
	Name, Guard, Outcome string
	Entries              []string
	LastEventID          string `json:"last_event_id"`
	Events               []struct {
		ID, Type string
		Data     json.RawMessage
	}
}

func (s scripted) String() string { return s.Name }

func TestKitRetries(t *testing.T) {
	t.Parallel()
	var set struct {
		Recorded struct{ Request countersign.AuthorizeRequest }
		Scripts  []scripted
	}
	require.NoError(t, kit.Read("retries.json", &set))
	played(t, "retries", set.Scripts, scripted.String, 2, func(t *testing.T, s scripted, client *countersign.Client) {
		_, err := client.Authorize(t.Context(), set.Recorded.Request)
		require.Equal(t, s.Outcome, outcome(err), "guard %s: %v", s.Guard, err)
	})
}

func TestKitPages(t *testing.T) {
	t.Parallel()
	var set struct {
		Subject string
		Limit   int64
		Scripts []scripted
	}
	require.NoError(t, kit.Read("pages.json", &set))
	played(t, "pages", set.Scripts, scripted.String, 2, func(t *testing.T, s scripted, client *countersign.Client) {
		var ids []string
		var failed error
		for entry, err := range client.AllPasskeys(t.Context(), set.Subject, countersign.ListPasskeysParams{Limit: set.Limit}) {
			ids, failed = append(ids, entry.ID), err
		}
		if s.Outcome == "entries" {
			require.NoError(t, failed)
			require.Equal(t, s.Entries, ids)
			return
		}
		require.Equal(t, s.Outcome, outcome(failed), "guard %s: %v", s.Guard, failed)
	})
}

// followed connects as a caller does that resumes after the last event, until it has so many events, one more than none, or an error that
// would come again.
func followed(t *testing.T, client *countersign.Client, last string, most int) (out []countersign.StreamedEvent, err error) {
	t.Helper()
	for {
		opened := false
		for e, failed := range client.StreamEvents(t.Context(), countersign.StreamParams{LastEventID: last}) {
			last, err = e.ID, failed
			if failed == nil {
				opened = true
				out = append(out, e)
			}
			if failed == nil && len(out) >= most {
				return out, nil
			}
		}
		var garbled *countersign.ProtocolError
		comesAgain := errors.As(err, &garbled) && (opened || most == 0)
		if comesAgain || !countersign.Unavailable(err) && !countersign.RateLimited(err) {
			return out, err
		}
	}
}

func TestKitStreams(t *testing.T) {
	t.Parallel()
	var set struct{ Scripts []scripted }
	require.NoError(t, kit.Read("streams.json", &set))
	played(t, "streams", set.Scripts, scripted.String, 2, func(t *testing.T, s scripted, client *countersign.Client) {
		events, err := followed(t, client, s.LastEventID, len(s.Events))
		if s.Outcome != "events" {
			require.Equal(t, s.Outcome, outcome(err), "guard %s: %v", s.Guard, err)
			return
		}
		require.NoError(t, err)
		for i, want := range s.Events {
			require.Equal(t, [2]string{want.ID, want.Type}, [2]string{events[i].ID, events[i].Type})
			require.JSONEq(t, string(want.Data), string(events[i].Data))
		}
	})
}
