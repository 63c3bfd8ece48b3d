package mcpgate_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/mcpgate"
	"github.com/countersign-dev/countersign/sdk/go/proof"
)

func TestLiveAllowedCallRunsOnItsProof(t *testing.T) {
	t.Parallel()
	b := open(t, allowing)
	b.moved(b.call(b.session("alice", latest, nil, false), mcp.CallToolParams{}))
	require.EqualValues(t, 1, b.ran.Load())
	page, err := b.service.ListAuthorizations(t.Context(), countersign.ListAuthorizationsParams{Subject: b.people["alice"]})
	require.NoError(t, err)
	require.Equal(t, "consumed", page.Items[0].Proof.Status)
}

func TestLiveConfirmedCallRuns(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := open(t, challenging)
			var shown *countersign.ChallengePublicView
			s := b.session("alice", version, func(b *bank, link, challenge string) string {
				require.Contains(t, link, "/challenge/"+challenge+"#")
				require.Zero(t, b.ran.Load(), "the tool must not run before")
				var err error
				shown, err = b.service.GetChallenge(t.Context(), challenge)
				require.NoError(t, err)
				return confirms(b, link, challenge)
			}, false)
			b.moved(b.call(s, mcp.CallToolParams{}))
			require.EqualValues(t, 1, b.ran.Load())
			var labels []string
			for _, d := range shown.Display.Details {
				labels = append(labels, d.Label+": "+d.Value)
			}
			require.ElementsMatch(t, []string{"Agent: shopping-agent", "Amount: 10", "Payee: eve"}, labels)
		})
	}
}

func TestLiveDeclinedCallDoesNotRun(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := open(t, challenging)
			var opened string
			s := b.session("alice", version, func(b *bank, link, challenge string) string {
				opened = challenge
				return declines(b, link, challenge)
			}, false)
			require.Contains(t, b.refused(b.call(s, mcp.CallToolParams{})), "declined")
			require.Zero(t, b.ran.Load())
			c, err := b.service.GetChallenge(t.Context(), opened)
			require.NoError(t, err)
			require.EqualValues(t, "cancelled", c.Status)
		})
	}
	t.Run("on the page", func(t *testing.T) {
		t.Parallel()
		b := open(t, challenging)
		s := b.session("alice", latest, func(b *bank, _, challenge string) string {
			_, err := b.service.CancelChallenge(t.Context(), challenge)
			require.NoError(t, err)
			return "accept"
		}, false)
		require.Contains(t, b.refused(b.call(s, mcp.CallToolParams{})), "not approved")
		require.Zero(t, b.ran.Load())
	})
}

func TestLiveExpiredCallDoesNotRun(t *testing.T) {
	t.Parallel()
	if os.Getenv(aheadEnv) == "" {
		t.Skipf("%s names no replica", aheadEnv)
	}
	b := open(t, challenging)
	s := b.session("alice", latest, func(b *bank, _, _ string) string {
		b.ahead.Store(true)
		return "accept"
	}, false)
	require.Contains(t, b.refused(b.call(s, mcp.CallToolParams{})), "not approved in time")
	require.Zero(t, b.ran.Load())
}

// approved opens a call, has it confirmed and returns its state, without continuing it.
func (b *bank) approved(s *mcp.ClientSession) mcp.CallToolParams {
	b.t.Helper()
	res := b.call(s, mcp.CallToolParams{})
	require.True(b.t, res.NeedsInput())
	p, ok := res.InputRequests["countersign"].(*mcp.ElicitParams)
	require.True(b.t, ok)
	confirms(b, p.URL, p.ElicitationID)
	return mcp.CallToolParams{
		RequestState: res.RequestState, InputResponses: mcp.InputResponseMap{"countersign": &mcp.ElicitResult{Action: "accept"}},
	}
}

func TestLiveApprovalIsForOneCall(t *testing.T) {
	t.Parallel()
	b := open(t, challenging)
	alice := b.session("alice", latest, confirms, true)
	t.Run("other arguments", func(t *testing.T) {
		for _, arguments := range []map[string]any{
			{"payee": "eve", "amount": 11}, {"payee": "mallory", "amount": 10}, {"payee": "eve", "amount": 10, "memo": "x"},
		} {
			state := b.approved(alice)
			state.Arguments = arguments
			require.Contains(t, b.refused(b.call(alice, state)), "different call")
		}
	})
	t.Run("another person", func(t *testing.T) {
		bob := b.session("bob", latest, confirms, true)
		require.Contains(t, b.refused(b.call(bob, b.approved(alice))), "different call")
	})
	t.Run("a state that the gate did not seal", func(t *testing.T) {
		state := b.approved(alice).RequestState
		payload, mac, _ := strings.Cut(state, ".")
		for _, forged := range []string{"azn_01jqx3k5v8e2sbyk0c4m7t9wzd", payload, payload + ".", "." + mac, "e30." + mac, state + ".", state[1:], payload + "=." + mac} {
			require.Contains(t, b.refused(b.call(alice, mcp.CallToolParams{RequestState: forged})), "different call, or has expired")
		}
	})
	require.Zero(t, b.ran.Load())
	t.Run("once", func(t *testing.T) {
		state := b.approved(alice)
		b.moved(b.call(alice, state))
		require.Contains(t, b.refused(b.call(alice, state)), "used or has expired")
		require.EqualValues(t, 1, b.ran.Load())
	})
	t.Run("once, at the same time", func(t *testing.T) {
		state := b.approved(alice)
		results := make(chan bool, 4)
		for range cap(results) {
			go func() {
				params := state
				params.Name, params.Arguments = "transfer", tenToEve
				res, err := alice.CallTool(context.WithoutCancel(t.Context()), &params)
				results <- err == nil && !res.IsError
			}()
		}
		ran := 0
		for range cap(results) {
			if <-results {
				ran++
			}
		}
		require.Equal(t, 1, ran)
		require.EqualValues(t, 2, b.ran.Load())
	})
}

func TestLiveHeldCallWaitsForItsReview(t *testing.T) {
	t.Parallel()
	review := func(b *bank, resolution string) {
		go func() {
			for b.t.Context().Err() == nil {
				page, err := b.reviewer.ListReviews(b.t.Context(), countersign.ListReviewsParams{Subject: b.people["alice"]})
				if err == nil && len(page.Items) > 0 {
					_, _ = b.reviewer.ReviewAuthorization(b.t.Context(), page.Items[0].Authorization, countersign.ManualReviewRequest{Resolution: resolution})
					return
				}
			}
		}()
	}
	t.Run("approved", func(t *testing.T) {
		t.Parallel()
		b := open(t, holding)
		review(b, "approve")
		b.moved(b.call(b.session("alice", latest, nil, false), mcp.CallToolParams{}))
		require.EqualValues(t, 1, b.ran.Load())
	})
	t.Run("rejected", func(t *testing.T) {
		t.Parallel()
		b := open(t, holding)
		review(b, "reject")
		require.Contains(t, b.refused(b.call(b.session("alice", latest, nil, false), mcp.CallToolParams{})), "not approved")
		require.Zero(t, b.ran.Load())
	})
	t.Run("approved later", func(t *testing.T) {
		t.Parallel()
		b := open(t, holding)
		b.gate.Wait = 50 * time.Millisecond
		s := b.session("alice", latest, nil, false)
		res := b.call(s, mcp.CallToolParams{})
		require.Contains(t, b.refused(res), "waits for approval")
		require.Zero(t, b.ran.Load())
		b.gate.Wait = time.Minute
		review(b, "approve")
		b.moved(b.call(s, mcp.CallToolParams{Meta: mcp.Meta{mcpgate.MetaAuthorization: res.Meta[mcpgate.MetaAuthorization]}}))
		require.EqualValues(t, 1, b.ran.Load())
	})
}

func TestLiveCallIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("deny", func(t *testing.T) {
		t.Parallel()
		b := open(t, denying)
		require.NotEmpty(t, b.refused(b.call(b.session("alice", latest, nil, false), mcp.CallToolParams{})))
		require.Zero(t, b.ran.Load())
	})
	t.Run("a client that opens no pages", func(t *testing.T) {
		t.Parallel()
		b := open(t, challenging)
		require.Contains(t, b.refused(b.call(b.session("alice", latest, nil, false), mcp.CallToolParams{})), "mode url")
		require.Zero(t, b.ran.Load())
	})
	t.Run("an action without proofs", func(t *testing.T) {
		t.Parallel()
		b := open(t, allowing)
		b.mode(countersign.ModeTest)
		s := b.session("alice", latest, nil, false)
		require.Contains(t, b.refused(b.call(s, mcp.CallToolParams{})), "mode to enforce")
		require.Zero(t, b.ran.Load())
		b.mode(countersign.ModeShadow)
		b.moved(b.call(s, mcp.CallToolParams{}))
	})
	t.Run("an invalid call", func(t *testing.T) {
		t.Parallel()
		b := open(t, allowing)
		s := b.session("alice", latest, nil, false)
		require.Contains(t, b.refused(b.call(s, mcp.CallToolParams{Arguments: map[string]any{"payee": "eve", "amount": -1}})), "positive")
		large := json.RawMessage(`{"payee": "eve", "amount": 9007199254740993}`)
		require.Contains(t, b.refused(b.call(s, mcp.CallToolParams{Arguments: large})), "as a string")
		require.Zero(t, b.ran.Load())
	})
}

func TestCallIsRefusedWithoutADecision(t *testing.T) {
	t.Parallel()
	portal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	t.Cleanup(portal.Close)
	client, err := countersign.New(portal.URL, "sk_test_x", countersign.WithRetries(0))
	require.NoError(t, err)
	verifier := &proof.Verifier{Keys: proof.NewRemote(portal.URL, nil), Issuer: "i", Environment: "e", Audience: "a"}
	limit := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"code":"rate_limited"}`))
	}))
	t.Cleanup(limit.Close)
	limited, err := countersign.New(limit.URL, "sk_test_x", countersign.WithRetries(0))
	require.NoError(t, err)
	call := mcpgate.Call{Action: "a", Subject: "s", Agent: "agent", ResourceType: "t", ResourceID: "1"}
	state := sealed(t, client, call, "azn_1")
	for name, c := range map[string]struct {
		gate *mcpgate.Gate
		call mcpgate.Call
		req  mcp.CallToolParamsRaw
		text string
	}{
		"no service":          {&mcpgate.Gate{Client: client, Verifier: verifier}, call, mcp.CallToolParamsRaw{}, "now"},
		"no service, later":   {&mcpgate.Gate{Client: client, Verifier: verifier}, call, mcp.CallToolParamsRaw{RequestState: state}, "now"},
		"rate limited":        {&mcpgate.Gate{Client: limited, Verifier: verifier}, call, mcp.CallToolParamsRaw{}, "too many requests"},
		"rate limited, later": {&mcpgate.Gate{Client: limited, Verifier: verifier}, call, mcp.CallToolParamsRaw{RequestState: state}, "too many requests"},
		"no gate":             {&mcpgate.Gate{}, call, mcp.CallToolParamsRaw{}, "could not be authorized"},
		"no agent":            {&mcpgate.Gate{Client: client, Verifier: verifier}, mcpgate.Call{}, mcp.CallToolParamsRaw{}, "could not be authorized"},
		"a list":              {&mcpgate.Gate{Client: client, Verifier: verifier}, call, mcp.CallToolParamsRaw{Arguments: json.RawMessage(`[]`)}, "object"},
		"a huge exponent":     {&mcpgate.Gate{Client: client, Verifier: verifier}, call, mcp.CallToolParamsRaw{Arguments: json.RawMessage(`{"a": 1e-999999999}`)}, "as a string"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := c.gate.Check(t.Context(), &mcp.CallToolRequest{Params: &c.req}, c.call)
			require.True(t, res.IsError)
			require.True(t, strings.Contains(res.Content[0].(*mcp.TextContent).Text, c.text), "%v", res.Content[0])
		})
	}
}

// sealed returns the state of a call without arguments, made from the description of the state alone.
func sealed(t *testing.T, client *countersign.Client, call mcpgate.Call, authorization string) string {
	t.Helper()
	none, err := proof.ContextDigest(map[string]any{})
	require.NoError(t, err)
	digest, err := proof.ContextDigest(map[string]any{"agent": call.Agent, "tool": "", "arguments_digest": none})
	require.NoError(t, err)
	text, err := json.Marshal(map[string]any{"a": authorization, "e": time.Now().Add(time.Hour).Unix()})
	require.NoError(t, err)
	payload := base64.RawURLEncoding.EncodeToString(text)
	covered, err := proof.Canonical(map[string]any{"method": "tools/call", "subject": call.Subject, "action": call.Action, "digest": digest, "payload": payload})
	require.NoError(t, err)
	mac := hmac.New(sha256.New, client.DeriveKey("mcp state"))
	mac.Write(covered)
	return payload + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
