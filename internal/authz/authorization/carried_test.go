package authorization_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/subject"
)

// again erases the subject, whose proofs were consumed, and creates it anew.
func (b *bundle) again(t *testing.T) {
	t.Helper()
	b.Exec("update proofs set status = 'consumed', consumed_at = $1 where status = 'active'", b.clock.Now())
	r, err := b.subjects.Erase(t.Context(), b.principal, b.Subject.ExternalID)
	require.NoError(t, err)
	for more := true; more; {
		more, err = b.subjects.Sweep(t.Context(), subject.Run{Environment: b.Scope.Environment, Erasure: r.Erasure})
		require.NoError(t, err)
	}
	for more := true; more; {
		more, err = b.subjects.Finish(t.Context(), subject.Run{Environment: b.Scope.Environment, Erasure: r.Erasure}, "erasure/"+r.Erasure, b.clock.Now())
		require.NoError(t, err)
	}
	v, err := b.subjects.Create(t.Context(), b.principal, b.Subject.ExternalID)
	require.NoError(t, err)
	b.Subject = v.Subject
}

// Whatever rules count goes on when the subject is erased and created anew, for as long as its window, and nothing else remains of the requests.
func TestCountsSurviveErasures(t *testing.T) {
	t.Parallel()
	for when, reserve := range map[string]bool{
		`subject.sum("amount", "payments.transfer", "allow", "36h") + decimal(context.amount) > 250`:          false,
		`subject.sum("amount", "payments.transfer", "allow", "1d") + decimal(context.amount) > 250`:           true,
		`subject.sum("amount", "payments.transfer", "any", "36h") + decimal(context.amount) > 250`:            false,
		`resource.sum("amount", "payments.transfer", "allow", "36h") + decimal(context.amount) > 250`:         false,
		`resource.sum("amount", "payments.transfer", "allow", "36h") + decimal(context.amount) >= 250.000001`: true,
		`subject.decisions("payments.transfer", "allow", "36h") >= 2`:                                         false,
		`subject.decisions("payments.transfer", "any", "36h") >= 2`:                                           false,
		`subject.distinct("payee", "payments.transfer", "allow", "36h") >= 2`:                                 false,
		`subject.sum("amount", "payments.transfer", "allow", "36h", {"approved_by_person": false}) >= 250.0`:  true,
		`subject.decisions("payments.transfer", "allow", "36h", {"approved_by_person": false}) >= 2`:          false,
		`resource.distinct("payee", "payments.transfer", "allow", "36h") >= 2`:                                false,
	} {
		t.Run(fmt.Sprintf("%s, %t", when, reserve), func(t *testing.T) {
			t.Parallel()
			b := counting(t, denyRule("limit", when, reserve))
			require.Equal(t, policy.Allow, b.send(t, "125", "a"))
			b.again(t)
			require.Equal(t, policy.Allow, b.send(t, "125", "b"))
			for range 2 {
				require.Equal(t, policy.Deny, b.send(t, "0.01", "c"))
				b.again(t)
			}
			b.clock.Advance(36 * time.Hour)
			require.Equal(t, policy.Allow, b.send(t, "125", "c"), "the window has passed")
		})
	}
}

// The requests of an erased subject have no values any more: they count under every filter.
func TestErasedRequestsCountUnderEveryFilter(t *testing.T) {
	t.Parallel()
	b := counting(t, denyRule("payee", `subject.sum("amount", "payments.transfer", "allow", "36h", {"payee": context.payee}) + decimal(context.amount) > 250`, true),
		denyRule("often", `subject.decisions("payments.transfer", "any", "36h", {"payee": "z"}) >= 2`, false))
	require.Equal(t, policy.Allow, b.send(t, "125", "a"))
	require.Equal(t, policy.Allow, b.send(t, "250", "b"), "another payee")
	b.again(t)
	require.Equal(t, policy.Deny, b.send(t, "0.01", "c"))
	b.clock.Advance(36 * time.Hour)
	require.Equal(t, policy.Allow, b.send(t, "250", "c"))
}

// Security events about a subject are counted on when it is erased and created anew, as long as the window and in simulations.
func TestSignalsSurviveErasures(t *testing.T) {
	t.Parallel()
	b := counting(t, denyRule("watched", `subject.signals("credential-change", "36h") >= 2`, false))
	signal := func(kind string, eased bool) {
		b.Exec(`insert into signals (id, tenant_id, environment_id, stream_id, token, place, type, eased, subject_uid, at, received_at, effects)
			select gen_random_uuid(), tenant_id, id, 'sgs_1', gen_random_uuid()::text::bytea, 0, $2, $3, $4, $5, $5, '{}' from environments where id = $1`,
			b.Scope.Environment, kind, eased, b.Subject.UID, b.clock.Now())
	}
	signal("credential-change", false)
	signal("credential-change", true)
	signal("session-revoked", false)
	b.again(t)
	require.Equal(t, policy.Allow, b.send(t, "1", "a"), "one, and others that do not count")
	signal("credential-change", false)
	for range 3 {
		require.Equal(t, policy.Deny, b.send(t, "1", "a"))
		b.again(t)
	}
	b.clock.Advance(36 * time.Hour)
	require.Equal(t, policy.Allow, b.send(t, "1", "a"), "the window has passed")
}

// One person who is erased and created anew has several requests and stays one of the persons who pay to an account, until a new request.
func TestErasedSubjectIsCountedOnceByAnAccount(t *testing.T) {
	t.Parallel()
	b := counting(t, denyRule("many", `resource.distinct("subject", "payments.transfer", "allow", "1h") >= 2`, false))
	for range 3 {
		require.Equal(t, policy.Allow, b.send(t, "1", "a"))
	}
	b.again(t)
	b.again(t)
	require.Equal(t, policy.Allow, b.send(t, "1", "a"))
}

// What an erased subject did restricts the next subject with its id, and vouches for nothing: a payee of before is new again.
func TestErasedSubjectVouchesForNoValue(t *testing.T) {
	t.Parallel()
	b := counting(t, denyRule("new", `subject.decisions("payments.transfer", "allow", "1h") >= 1 && !subject.seen("payee", context.payee, "30d")`, false))
	require.Equal(t, policy.Allow, b.send(t, "1", "a"))
	require.Equal(t, policy.Allow, b.send(t, "1", "a"))
	b.again(t)
	require.Equal(t, policy.Deny, b.send(t, "1", "a"))
}

// The counts of an erased subject name neither its requests nor its accounts, and not both in one row; what waited counts no more.
func TestCountsOfAnErasedSubjectAreKeyedDigests(t *testing.T) {
	t.Parallel()
	b := counting(t, toHold("held", policy.Stricter{ExplicitApprovalRequired: true}),
		denyRule("limit", `subject.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 1000`, true),
		denyRule("account", `resource.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 1000`, true),
		denyRule("many", `resource.distinct("subject", "payments.transfer", "allow", "1h") >= 20`, false))
	require.Equal(t, policy.Allow, b.send(t, "400", "a"))
	b.Exec("update proofs set status = 'consumed', consumed_at = $1", b.clock.Now())
	require.NotEqual(t, policy.Allow, b.send(t, "500", "held"))
	stored := b.texts(t, "select unnest(array[request_id, resource_digest, subject_uid]) from aggregate_values where resource_digest is not null")
	require.NotEmpty(t, stored)
	r, err := b.subjects.Erase(t.Context(), b.principal, b.Subject.ExternalID)
	require.NoError(t, err)
	require.NotEmpty(t, r.Erasure)
	for _, text := range stored {
		require.Zero(t, b.Count("select count(*) from aggregate_values v where v::text like '%"+text+"%'"), text)
	}
	require.Zero(t, b.Count("select count(*) from aggregate_values where reserved = 'open' or subject_uid <> '' and resource_digest is not null or field = '"+rules.SubjectField+"' and length(digest) <> 71"))
	require.Positive(t, b.Count("select count(*) from aggregate_values where reserved = 'released'"))
	v, err := b.subjects.Create(t.Context(), b.principal, b.Subject.ExternalID)
	require.NoError(t, err)
	b.Subject = v.Subject
	require.Equal(t, policy.Allow, b.send(t, "600", "a"), "the request that waited was cancelled")
	require.Equal(t, policy.Deny, b.send(t, "0.01", "a"))
	other := b.request()
	other.Context = json.RawMessage(`{"amount": "0.01", "currency": "EUR", "payee": "a"}`)
	other.Resource.ID = "ACC_1"
	got, err := b.authorize(t, other)
	require.NoError(t, err)
	require.Equal(t, policy.Deny, got.Decision, "in another spelling of the account")
}

func (b *bundle) texts(t *testing.T, query string) []string {
	t.Helper()
	rows, err := b.Store.Pool().Query(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	var out []string
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		out = append(out, text)
	}
	return out
}
