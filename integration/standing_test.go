package integration_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// standingSchema has an amount, and the agent that asks.
var standingSchema = object{
	"type": "object",
	"properties": object{
		"amount":   object{"type": "number", "x-countersign-display": object{"label": "Amount", "format": "money", "currency": "/currency"}, "x-countersign-aggregate": "sum"},
		"currency": object{"type": "string"},
		"agent":    object{"type": "string", "x-countersign-agent": true},
	},
}

// standingPolicy permits standing approvals of requests that the subject approves.
var standingPolicy = object{"coverage_min": "none", "explicit_approval_required": true, "standing": permitted}

var permitted = object{
	"by": []string{"passkey"}, "max_uses": 1000, "max_amount": object{"field": "amount", "limit": "100000"}, "max_duration_seconds": 31_536_000, "agent": "named",
}

// standingAction makes an action in mode enforce under requirements with standingSchema, and returns its path and its key.
func (w world) standingAction(t testing.TB, requirements object) (path, key string) {
	t.Helper()
	key = "standing.release_" + unique()
	id := w.Server.post(t, "/api/v1/actions", object{
		"key": key, "name": "Release a payment", "consequence": "Money leaves the account.", "allowed_audiences": []string{audience}, "resource_type": "supplier",
		"context_schema": standingSchema,
	}).is(201).string("id")
	path = "/api/v1/actions/" + id
	w.Server.post(t, path+"/policy-versions", object{"requirements": requirements}).is(201)
	w.Server.post(t, path+"/policy-versions/1/activate", nil).is(200)
	w.Server.patch(t, path, object{"mode": "enforce"}).is(200)
	return path, key
}

// standingRequest is a request for a standing approval of the subject for a supplier.
func standingRequest(subject, action string, more object) object {
	return with(object{
		"subject": subject, "action": action, "audience": audience, "by": "passkey", "resource_id": "supplier-12", "agent": "billing-bot", "max_uses": 3,
		"max_amount": object{"amount": "100.00", "currency": "EUR"}, "ends_at": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339),
	}, more)
}

// covered is a request that the standing approval of standingRequest covers.
func covered(subject, action string, more object) object {
	return with(with(request(subject, action), object{
		"resource": object{"type": "supplier", "id": "supplier-12"}, "context": object{"amount": 10.5, "currency": "EUR", "agent": "billing-bot"},
	}), more)
}

// begun gives the subject a standing approval, which the subject confirms, and returns its path.
func (w world) begun(t *testing.T, subject, action string, more object) string {
	t.Helper()
	opened := w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, more)).is(201)
	require.Equal(t, "pending", opened.string("standing_approval.status"))
	w.Server.post(t, "/api/v1/challenges/"+opened.string("challenge.id")+"/complete", object{"method": "sandbox_confirm"}).is(200)
	path := "/api/v1/standing-approvals/" + opened.string("standing_approval.id")
	require.Equal(t, "active", w.Server.get(t, path).is(200).string("status"))
	return path
}

// decides requires the decision about a request.
func (w world) decides(t *testing.T, body object, decision string) response {
	t.Helper()
	a := w.Server.post(t, "/api/v1/authorize", body).is(200)
	require.Equal(t, decision, a.string("decision"), "response: %s", a.body)
	return a
}

// The subject's passkey signs one sentence, and from then on requests within it are allowed, each with a proof of its own, until it is used up.
func TestStandingApprovalByPasskey(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.standingAction(t, with(standingPolicy, object{"challenge_methods": []string{"passkey"}}))
	subject := w.subject(t)
	w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, nil)).problem(409, "conflict")
	device := w.device(t, subject)
	opened := w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, nil)).is(201)
	challenge := opened.string("challenge.id")
	shown := w.Server.get(t, "/api/v1/challenges/"+challenge).is(200)
	details := shown.value("display.details").([]any)
	require.Len(t, details, 1)
	sentence := details[0].(map[string]any)["value"].(string)
	require.Equal(t, opened.string("standing_approval.sentence"), sentence)
	for _, part := range []string{"Release a payment", "supplier-12", audience, "up to 3 times", "100.00 EUR", "billing-bot"} {
		require.Contains(t, sentence, part)
	}
	w.decides(t, covered(subject, action, nil), "challenge")
	w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", object{"method": "passkey", "assertion": w.sign(t, device, challenge)}).is(200)
	begun := w.Server.get(t, "/api/v1/authorizations?subject="+subject).is(200).list()[0]
	require.Equal(t, "allow", begun["decision"])
	require.Nil(t, begun["proof"], "the standing approval itself executes nothing")

	path := "/api/v1/standing-approvals/" + opened.string("standing_approval.id")
	seen := map[string]bool{}
	for n := 1; n <= 3; n++ {
		a := w.decides(t, covered(subject, action, nil), "allow")
		require.Equal(t, opened.string("standing_approval.id"), a.string("standing_approval"))
		require.Equal(t, []any{"standing_approval"}, a.value("reason_codes"))
		seen[a.string("proof_id")] = true
		verified := w.Server.post(t, "/api/v1/verify", object{"proof": a.string("proof")}).is(200)
		require.Equal(t, []any{"standing"}, verified.value("claims.amr"))
		require.Equal(t, opened.string("standing_approval.id"), verified.string("claims.grant"))
		require.Equal(t, float64(n), w.Server.get(t, path).is(200).value("uses"))
	}
	require.Len(t, seen, 3)
	require.Equal(t, "used_up", w.Server.get(t, path).is(200).string("status"))
	w.decides(t, covered(subject, action, nil), "challenge")
	require.Equal(t, "31.5", w.Server.get(t, path).is(200).string("amount_used"))
	for typ, n := range map[string]int{"standing.requested": 1, "standing.begun": 1, "standing.used": 3} {
		require.Equal(t, n, count(t, "select count(*) from events where environment_id = $1 and type = $2", w.ID, typ), typ)
	}
	w.intact(t)
}

// Only what the sentence says is covered.
func TestStandingApprovalCoversItsSentence(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.standingAction(t, standingPolicy)
	_, other := w.standingAction(t, standingPolicy)
	subject := w.subject(t)
	w.begun(t, subject, action, nil)
	for name, body := range map[string]object{
		"another resource": covered(subject, action, object{"resource": object{"type": "supplier", "id": "supplier-123"}}),
		"another agent":    covered(subject, action, object{"context": object{"amount": 1, "currency": "EUR", "agent": "other"}}),
		"no agent":         covered(subject, action, object{"context": object{"amount": 1, "currency": "EUR"}}),
		"another currency": covered(subject, action, object{"context": object{"amount": 1, "currency": "USD", "agent": "billing-bot"}}),
		"no amount":        covered(subject, action, object{"context": object{"currency": "EUR", "agent": "billing-bot"}}),
		"too much":         covered(subject, action, object{"context": object{"amount": 100.01, "currency": "EUR", "agent": "billing-bot"}}),
		"another action":   covered(subject, other, nil),
		"another subject":  covered(w.subject(t), action, nil),
	} {
		t.Run(name, func(t *testing.T) { w.decides(t, body, "challenge") })
	}
	w.decides(t, covered(subject, action, object{"context": object{"amount": 100, "currency": "EUR", "agent": "billing-bot"}}), "allow")
	w.decides(t, covered(subject, action, nil), "challenge")
}

// A simulation applies the standing approval that allowed a decision to versions under whose terms it would have been given.
func TestSimulationOfStandingApprovals(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	path, action := w.standingAction(t, standingPolicy)
	subject := w.subject(t)
	w.decides(t, covered(subject, action, nil), "challenge")
	w.begun(t, subject, action, nil)
	used := w.decides(t, covered(subject, action, nil), "allow")
	for i, c := range []struct {
		name         string
		requirements object
		after        object
		notDecidable int
	}{
		{"the version in force", standingPolicy, object{"allow": 1.0, "challenge": 1.0}, 0},
		{"the same terms", with(standingPolicy, object{"self_review": "barred"}), object{"allow": 1.0, "challenge": 1.0}, 0},
		{"other terms", with(standingPolicy, object{"standing": with(permitted, object{"max_uses": 2})}), object{"challenge": 1.0}, 1},
		{"another source", with(standingPolicy, object{"standing": with(permitted, object{"by": []string{"review"}})}), object{"challenge": 2.0}, 0},
		{"none", object{"coverage_min": "none", "explicit_approval_required": true}, object{"challenge": 2.0}, 0},
		{"other terms that nothing needs", with(allowing, object{"standing": with(permitted, object{"max_uses": 2})}), object{"allow": 2.0}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			version := 1
			if i > 0 {
				version = int(w.Server.post(t, path+"/policy-versions", object{"requirements": c.requirements}).is(201).value("version").(float64))
			}
			got := w.Server.post(t, fmt.Sprintf("%s/policy-versions/%d/simulate", path, version), object{}).is(200)
			require.Equal(t, c.after, got.value("after"), string(got.body))
			require.InDelta(t, c.notDecidable, got.value("not_decidable"), 0)
			if c.notDecidable > 0 {
				left := got.value("undecided").([]any)[0].(map[string]any)
				require.Equal(t, used.string("id"), left["authorization"])
				require.Equal(t, []any{map[string]any{"rule": "standing_approval", "unknown": []any{"whether the standing approval would have been given"}}}, left["rules"])
			}
		})
	}
}

// A policy decides what may be asked for.
func TestStandingApprovalWithinThePolicy(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	path, action := w.standingAction(t, standingPolicy)
	_, none := w.standingAction(t, object{"coverage_min": "none", "explicit_approval_required": true})
	_, prefixed := w.standingAction(t, with(standingPolicy, object{"standing": with(permitted, object{"resource": object{"prefix": "supplier-"}})}))
	subject := w.subject(t)
	w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, none, nil)).problem(409, "conflict")
	for name, more := range map[string]object{
		"by":          {"by": "review"},
		"uses":        {"max_uses": 1001},
		"amount":      {"max_amount": object{"amount": "100000.01", "currency": "EUR"}},
		"no amount":   {"max_amount": nil},
		"no currency": {"max_amount": object{"amount": "1"}},
		"currency":    {"max_amount": object{"amount": "1", "currency": "ZZZ"}},
		"agent":       {"agent": nil},
		"resource":    {"resource_id": nil},
		"late":        {"ends_at": time.Now().AddDate(1, 0, 2).UTC().Format(time.RFC3339)},
		"past":        {"ends_at": time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)},
		"bidi":        {"agent": "bot\u202e"},
	} {
		t.Run(name, func(t *testing.T) {
			w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, more)).is(422)
		})
	}
	w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, prefixed, nil)).is(422)
	w.begun(t, subject, prefixed, object{"resource_id": nil})
	w.decides(t, covered(subject, prefixed, object{"resource": object{"type": "supplier", "id": "supplier-99"}}), "allow")
	w.decides(t, covered(subject, prefixed, object{"resource": object{"type": "supplier", "id": "client-99"}}), "challenge")
	for name, standing := range map[string]object{
		"unknown field": with(permitted, object{"max_amount": object{"field": "sum", "limit": "1"}}),
		"limit":         with(permitted, object{"max_amount": object{"field": "amount", "limit": "-1"}}),
		"twice":         with(permitted, object{"by": []string{"passkey", "passkey"}}),
	} {
		t.Run(name, func(t *testing.T) {
			w.Server.post(t, path+"/policy-versions", object{"requirements": with(standingPolicy, object{"standing": standing})}).is(422)
		})
	}
}

// Reviewers approve what the policy holds. It ends when a reviewer loses the authority for it.
func TestStandingApprovalByReview(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	reviewer := w.reviewer(t)
	by := with(permitted, object{"by": []string{"review"}})
	_, action := w.standingAction(t, with(holding, object{"standing": by, "self_review": "barred"}))
	subject := w.subject(t)
	opened := w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, object{"by": "review"})).is(201)
	require.NotEmpty(t, opened.string("hold.status_url"))
	w.decides(t, covered(subject, action, nil), "hold")
	review := reviewPath(opened.string("standing_approval.authorization"))
	w.Server.post(t, review, approve).problem(403, "self_review")
	reviewer.post(t, review, approve).is(200)
	a := w.decides(t, covered(subject, action, nil), "allow")
	require.Equal(t, opened.string("standing_approval.id"), a.string("standing_approval"))
	path := "/api/v1/standing-approvals/" + opened.string("standing_approval.id")
	identified := reviewer.get(t, "/api/v1/credential").is(200).string("credential")
	w.Admin.delete(t, "/api/v1/credentials/"+identified)
	require.Equal(t, "approver_without_authority", w.Server.get(t, path).is(200).string("end_reason"))
	w.decides(t, covered(subject, action, nil), "hold")
	require.Equal(t, "ended", w.Server.get(t, path).is(200).string("status"))
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'standing.ended'", w.ID))
	w.intact(t)
}

// Upkeep records the end of a standing approval whose reviewer has lost the authority for it, although no one uses it.
func TestStandingApprovalEndsWithItsReviewer(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	reviewer := w.reviewer(t)
	_, action := w.standingAction(t, with(holding, object{"standing": with(permitted, object{"by": []string{"review"}})}))
	var paths []string
	for range 3 {
		opened := w.Server.post(t, "/api/v1/standing-approvals", standingRequest(w.subject(t), action, object{"by": "review"})).is(201)
		reviewer.post(t, reviewPath(opened.string("standing_approval.authorization")), approve).is(200)
		paths = append(paths, "/api/v1/standing-approvals/"+opened.string("standing_approval.id"))
	}
	ends := func() int {
		// Other tests alter records of their environments, which cannot be checked.
		_ = standing.New(shared.Core.Store, clock.System(), testenv.Keys()).SweepReviewed(t.Context(), time.Now().UTC(), "upkeep/ended-standing-approvals", 2)
		return count(t, "select count(*) from events where environment_id = $1 and type = 'standing.ended' and data->>'reason' = 'approver_without_authority'", w.ID)
	}
	require.Zero(t, ends())
	w.Admin.delete(t, "/api/v1/credentials/"+reviewer.get(t, "/api/v1/credential").is(200).string("credential"))
	require.Equal(t, 3, ends())
	require.Equal(t, 3, ends())
	require.Equal(t, "workflow:upkeep/ended-standing-approvals", w.Server.get(t, paths[0]).is(200).string("ended_by"))
	w.intact(t)
}

// A standing approval by reviewers is not enough for a rule that asks more of them, and nothing that denies is satisfied by one.
func TestStandingApprovalIsNoMore(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	rules := []object{
		{"name": "large", "when": "has(context.amount) && context.amount > 50.0", "reason": "Two review a large payment.", "requirements": object{"approvals_required": 2}},
		{"name": "barred", "when": "has(context.amount) && context.amount == 13.0", "reason": "Never thirteen.", "requirements": object{"deny_on": []string{"rule_matched"}}},
	}
	_, action := w.standingAction(t, with(holding, object{"standing": with(permitted, object{"by": []string{"review"}}), "rules": rules}))
	subject := w.subject(t)
	opened := w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, object{"by": "review"})).is(201)
	w.reviewer(t).post(t, reviewPath(opened.string("standing_approval.authorization")), approve).is(200)
	amount := func(n float64) object {
		return covered(subject, action, object{"context": object{"amount": n, "currency": "EUR", "agent": "billing-bot"}})
	}
	w.decides(t, amount(51), "hold")
	w.decides(t, amount(13), "deny")
	w.decides(t, amount(50), "allow")
}

// What a standing approval rests on ends it, and it allows nothing from then on.
func TestStandingApprovalEndsWithItsSource(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	for name, end := range map[string]func(t *testing.T, policy, subject, path string) string{
		"revoked": func(t *testing.T, _, _, path string) string {
			w.Server.post(t, path+"/revoke", nil).is(200)
			w.Server.post(t, path+"/revoke", nil).is(200)
			return "revoked"
		},
		"frozen": func(t *testing.T, _, subject, _ string) string {
			w.Server.post(t, "/api/v1/subjects/"+subject+"/adaptation/freeze", object{}).is(200)
			return "subject_frozen"
		},
		"recovery": func(t *testing.T, _, subject, _ string) string {
			w.Server.post(t, "/api/v1/subjects/"+subject+"/recovery", object{"anchor": "idp", "anchor_evidence_ref": "case-4711"}).is(201)
			return "recovery"
		},
		"subject revoked": func(t *testing.T, _, subject, _ string) string {
			w.Server.post(t, "/api/v1/subjects/"+subject+"/revoke", object{}).is(200)
			return "subject_revoked"
		},
		"policy version": func(t *testing.T, policy, _, _ string) string {
			w.Server.post(t, policy+"/policy-versions", object{"requirements": standingPolicy}).is(201)
			w.Server.post(t, policy+"/policy-versions/2/activate", nil).is(200)
			return "policy_version_retired"
		},
		"action": func(t *testing.T, policy, _, _ string) string {
			w.Server.delete(t, policy)
			return "action_archived"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy, action := w.standingAction(t, standingPolicy)
			subject := w.subject(t)
			path := w.begun(t, subject, action, nil)
			w.decides(t, covered(subject, action, nil), "allow")
			reason := end(t, policy, subject, path)
			ended := w.Server.get(t, path).is(200)
			require.Equal(t, "ended", ended.string("status"))
			require.Equal(t, reason, ended.string("end_reason"))
			after := w.Server.post(t, "/api/v1/authorize", covered(subject, action, nil))
			require.NotContains(t, after.body, `"decision":"allow"`)
		})
	}
}

// A passkey that is revoked ends what it signed, and upkeep records the end.
func TestStandingApprovalEndsWithItsPasskey(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.standingAction(t, standingPolicy)
	subject := w.subject(t)
	device := w.device(t, subject)
	opened := w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, nil)).is(201)
	challenge := opened.string("challenge.id")
	w.Server.post(t, "/api/v1/challenges/"+challenge+"/complete", object{"method": "passkey", "assertion": w.sign(t, device, challenge)}).is(200)
	w.decides(t, covered(subject, action, nil), "allow")
	passkey := w.Server.get(t, "/api/v1/subjects/"+subject+"/passkeys").is(200).list()[0]["id"].(string)
	w.Server.delete(t, "/api/v1/subjects/"+subject+"/passkeys/"+passkey)
	w.decides(t, covered(subject, action, nil), "challenge")
	_, err := standing.New(shared.Core.Store, clock.System(), testenv.Keys()).Sweep(t.Context(), time.Now().UTC(), "upkeep/ended-standing-approvals", 1000)
	require.NoError(t, err)
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'standing.ended' and data->>'reason' = 'passkey_revoked'", w.ID))
	w.intact(t)
}

// 200 requests at once are never allowed more often, or for more, than the standing approval says.
func TestStandingApprovalIsExactAtOnce(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.standingAction(t, standingPolicy)
	for name, c := range map[string]struct {
		more object
		want int64
	}{
		"uses":   {object{"max_uses": 17, "max_amount": object{"amount": "100000", "currency": "EUR"}}, 17},
		"amount": {object{"max_uses": 1000, "max_amount": object{"amount": "137.00", "currency": "EUR"}}, 13}, // of 10.50 each
	} {
		t.Run(name, func(t *testing.T) {
			subject := w.subject(t)
			path := w.begun(t, subject, action, c.more)
			var allowed atomic.Int64
			concurrently(200, func(int) {
				body := covered(subject, action, nil)
				for range 20 {
					a, err := w.Server.send(http.MethodPost, "/api/v1/authorize", body)
					if err == nil && a.status == http.StatusServiceUnavailable {
						continue
					}
					if err != nil || a.status != http.StatusOK {
						t.Errorf("no decision: %v %s", err, a.body)
						return
					}
					if a.t = t; a.string("decision") == "allow" {
						allowed.Add(1)
					}
					return
				}
			})
			require.Equal(t, c.want, allowed.Load())
			require.Equal(t, float64(c.want), w.Server.get(t, path).is(200).value("uses"))
		})
	}
	w.intact(t)
}

// What is not executed gives its use back, once, unless its proof was consumed.
func TestStandingApprovalGivesBack(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.standingAction(t, standingPolicy)
	subject := w.subject(t)
	path := w.begun(t, subject, action, object{"max_uses": 1})
	uses := func() string { return fmt.Sprint(w.Server.get(t, path).is(200).value("uses")) }
	first := w.decides(t, covered(subject, action, nil), "allow")
	outcome := "/api/v1/authorizations/" + first.string("id") + "/outcome"
	w.Server.post(t, outcome, object{"outcome": "not_executed"}).is(200)
	w.Server.post(t, outcome, object{"outcome": "not_executed"}).is(200)
	require.Equal(t, "0", uses())
	require.Equal(t, "revoked", w.Server.get(t, "/api/v1/proofs/"+first.string("proof_id")+"/status").is(200).string("status"))
	second := w.decides(t, covered(subject, action, nil), "allow")
	w.Server.post(t, "/api/v1/verify", object{"proof": second.string("proof"), "consume": true}).is(200)
	w.Server.post(t, "/api/v1/authorizations/"+second.string("id")+"/outcome", object{"outcome": "not_executed"}).is(200)
	require.Equal(t, "1", uses())
	w.decides(t, covered(subject, action, nil), "challenge")
	w.intact(t)
}

// A subject has at most 100 in force, listed newest first.
func TestStandingApprovalsOfASubject(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.standingAction(t, standingPolicy)
	subject := w.subject(t)
	for range standing.MaxInForce {
		w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, nil)).is(201)
	}
	w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, nil)).problem(409, "conflict")
	page := w.Server.get(t, "/api/v1/standing-approvals?limit=60&subject="+subject).is(200)
	require.Len(t, page.list(), 60)
	require.NotEmpty(t, page.header.Get("Link"))
	newest := page.list()[0]
	w.Server.post(t, "/api/v1/standing-approvals/"+newest["id"].(string)+"/revoke", nil).is(200)
	w.Server.post(t, "/api/v1/standing-approvals", standingRequest(subject, action, nil)).is(201)
	require.Empty(t, w.Server.get(t, "/api/v1/standing-approvals?subject=unknown").is(200).list())
}

// In the console an operator sees the standing approvals beside their subject, and revokes one.
func TestConsoleRevokesAStandingApproval(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	_, action := w.standingAction(t, standingPolicy)
	subject := w.subject(t)
	path := w.begun(t, subject, action, nil)
	w.decides(t, covered(subject, action, nil), "allow")
	page, revoke := "/console/"+w.ID+"/subjects/"+subject, "/console/"+w.ID+"/standing/"+strings.TrimPrefix(path, "/api/v1/standing-approvals/")+"/revoke"
	auditor, operator := w.signedIn(t, models.RoleAuditor), w.signedIn(t, models.RoleOperator, models.RoleAuditor)
	require.NotContains(t, auditor.get(page).body, revoke)
	require.Equal(t, 403, auditor.submit(revoke, nil).status)
	seen := operator.get(page).body
	for _, part := range []string{"Standing approvals", "is allowed for", "Used 1 of 3", revoke} {
		require.Contains(t, seen, part)
	}
	require.Equal(t, 303, operator.submit(revoke, nil).status)
	require.NotContains(t, operator.get(page).body, revoke)
	ended := w.Server.get(t, path).is(200)
	require.Equal(t, "person:"+operator.person, ended.string("ended_by"))
	w.decides(t, covered(subject, action, nil), "challenge")
}
