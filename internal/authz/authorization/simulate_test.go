package authorization_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

const (
	amountKept    = `{"properties": {"amount": {"type": "number", "x-countersign-keep": true}, "payee": {"type": "string", "maxLength": 70}}}`
	amountNotKept = `{"properties": {"amount": {"type": "number"}, "payee": {"type": "string", "maxLength": 70}}}`
)

// ruled returns requirements with a rule that denies what its condition matches.
func ruled(when ...string) policy.Requirements {
	r := policy.Requirements{CoverageMin: "none"}
	for i, w := range when {
		r.Rules = append(r.Rules, policy.Rule{
			Name: "rule_" + string(rune('a'+i)), When: w, Requirements: policy.Stricter{CoverageMin: policy.CoverageSufficient, InsufficientEvidence: policy.Deny}, Reason: "Test.",
		})
	}
	return r
}

// simulated authorizes a request for each context under a schema, a minute apart, and simulates requirements on them.
func simulated(t *testing.T, schema string, r policy.Requirements, contexts ...string) (*bundle, []string, func(authorization.Window) authorization.Simulation) {
	t.Helper()
	b := setup(t, allowing)
	b.activate(t, action.CreateVersion{Requirements: allowing, ContextSchema: json.RawMessage(schema)})
	ids := make([]string, len(contexts))
	for i, c := range contexts {
		b.clock.Advance(time.Minute)
		request := b.request()
		request.Context = json.RawMessage(c)
		got, err := b.authorize(t, request)
		require.NoError(t, err)
		ids[i] = got.ID
	}
	draft, err := b.actions.CreateVersion(t.Context(), b.principal, b.Action.ID, action.CreateVersion{Requirements: r})
	require.NoError(t, err)
	return b, ids, func(w authorization.Window) authorization.Simulation {
		if w.Last == 0 {
			w.Last, w.List = 100, 100
		}
		got, err := b.Simulate(t.Context(), b.Scope, draft, policy.Sandbox, w)
		require.NoError(t, err)
		return got
	}
}

func TestSimulateReplaysRulesWithKeptValues(t *testing.T) {
	t.Parallel()
	const large = `has(context.amount) && context.amount > 100.0`
	b, ids, simulate := simulated(t, amountKept, ruled(large), `{"amount": 500, "payee": "secret"}`, `{"amount": 5}`, `{}`)
	got := simulate(authorization.Window{})
	require.Equal(t, 3, got.Decisions)
	require.Equal(t, map[policy.Effect]int{policy.Allow: 2, policy.Deny: 1}, got.After)
	require.Zero(t, got.NotDecidable)
	require.Empty(t, got.Undecided)
	require.Equal(t, []authorization.Move{{
		Authorization: ids[0], DecidedAt: apitime.Time(storetest.Epoch.Add(time.Minute)), From: policy.Allow, To: policy.Deny, Rules: []string{"rule_a"},
	}}, got.Moves)

	b.Exec("delete from kept_values")
	got = simulate(authorization.Window{})
	require.Equal(t, 2, got.NotDecidable, "their retention has passed")
	require.Equal(t, 1, got.Decisions, "an empty context is known by its digest")
}

func TestSimulateListsWhatItCannotDecide(t *testing.T) {
	t.Parallel()
	const large, stranger = `has(context.amount) && context.amount > 100.0`, `has(context.payee) && context.payee == "X"`
	_, ids, simulate := simulated(t, amountNotKept, ruled(large, stranger), `{"amount": 500}`, `{"amount": 5}`)
	got := simulate(authorization.Window{Last: 10, List: 1})
	require.Zero(t, got.Decisions)
	require.Zero(t, got.Changed)
	require.Equal(t, 2, got.NotDecidable)
	require.Equal(t, []authorization.Undecided{{
		Authorization: ids[1], DecidedAt: apitime.Time(storetest.Epoch.Add(2 * time.Minute)), Decision: policy.Allow,
		Rules: []authorization.UndecidedRule{
			{Rule: "rule_a", Unknown: []string{"context.amount"}}, {Rule: "rule_b", Unknown: []string{"context.payee"}},
		},
	}}, got.Undecided, "the newest")
}

func TestSimulateCountsDecisionsAsOfThen(t *testing.T) {
	t.Parallel()
	b, ids, simulate := simulated(t, `{}`, ruled(`subject.decisions("payments.transfer", "allow", "1h") >= 2`), `{}`, `{}`, `{}`, `{}`)
	got := simulate(authorization.Window{})
	require.Equal(t, map[policy.Effect]int{policy.Allow: 2, policy.Deny: 2}, got.After)
	require.Equal(t, []string{ids[3], ids[2]}, []string{got.Moves[0].Authorization, got.Moves[1].Authorization}, "newest first")

	// A decision is counted for an hour; what retention may have removed since is not known.
	cutoff := storetest.Epoch.Add(3*time.Minute - time.Hour)
	row, err := events.Row(events.Entry{
		Scope: b.Scope, At: b.clock.Now(), Actor: "workflow:upkeep", Data: events.RetentionExecutedData{Class: "authorizations", Removed: 1, OlderThan: apitime.Time(cutoff)},
	})
	require.NoError(t, err)
	require.NoError(t, events.InsertEvent(t.Context(), b.Store.Q, row, false))
	got = simulate(authorization.Window{})
	require.Equal(t, 2, got.NotDecidable)
	require.Equal(t, map[policy.Effect]int{policy.Deny: 2}, got.After)
	require.Equal(t, []string{`subject.decisions("payments.transfer", "allow", "1h")`}, got.Undecided[0].Rules[0].Unknown)
}

func TestSimulateTakesTheSubjectAsOfThen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when, change string
		want         policy.Effect // empty for not decidable
	}{
		"a passkey that was added later":     {`subject.passkeys == 0`, `passkey`, policy.Deny},
		"age":                                {`subject.age > duration("100000h")`, ``, policy.Allow},
		"never recovered":                    {`subject.recently_recovered`, ``, policy.Allow},
		"recovered since, or before":         {`subject.recently_recovered`, `update subjects set claim_cap_until = now() + interval '100 years'`, ""},
		"a limit that had ended":             {`subject.recently_recovered`, `update subjects set claim_cap_until = '2000-01-01Z'`, policy.Allow},
		"enrollment is not stored":           {`subject.enrollment == "enrolled"`, ``, ""},
		"the id of the resource is not kept": {`resource.id == "acc_1"`, ``, ""},
		"its type is":                        {`resource.type == "account" && action.mode == "enforce"`, ``, policy.Deny},
		"time":                               {`now < timestamp("2000-01-01T00:00:00Z")`, ``, policy.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, simulate := simulated(t, `{}`, ruled(c.when), `{}`)
			switch c.change {
			case "":
			case "passkey":
				b.clock.Advance(time.Hour)
				b.Exec(`insert into passkeys (id, tenant_id, environment_id, subject_uid, credential_id, public_key, attestation_type, aaguid, transports,
					sign_count, user_verified, backup_eligible, backup_state, created_at) values ('pk_1', $1, $2, $3, '\x01', '\x06', 'none', '\x07', '{}', 1,
					true, false, false, $4)`, b.Scope.Tenant, b.Scope.Environment, b.Subject.UID, b.clock.Now())
			default:
				b.Exec(c.change)
			}
			got := simulate(authorization.Window{})
			if c.want == "" {
				require.Equal(t, 1, got.NotDecidable)
				return
			}
			require.Equal(t, map[policy.Effect]int{c.want: 1}, got.After)
		})
	}
}

// A list is simulated with its entries of now, and the result says so.
func TestSimulateTakesListsAsOfNow(t *testing.T) {
	t.Parallel()
	const kept = `{"properties": {"payee": {"type": "string", "maxLength": 70, "x-countersign-keep": true}}}`
	b, ids, _ := simulated(t, kept, allowing, `{"payee": "Straße"}`, `{"payee": "other"}`, `{}`)
	list := func(name string, add lists.NewEntry) {
		t.Helper()
		l, err := b.lists.Create(t.Context(), b.Scope, lists.By{Actor: "test"}, lists.Draft{Name: name, Kind: models.ListText, Personal: name == "known"})
		require.NoError(t, err)
		_, err = b.lists.Change(t.Context(), b.Scope, lists.By{Actor: "test"}, l.ID, lists.Edit{Add: []lists.NewEntry{add}})
		require.NoError(t, err)
	}
	ended := b.clock.Now().Add(time.Minute)
	list("known", lists.NewEntry{Value: "STRASSE", Reason: "Test"})
	list("ended", lists.NewEntry{Value: "other", Reason: "Test", ExpiresAt: &ended})
	b.clock.Advance(time.Hour)
	v, err := b.actions.CreateVersion(t.Context(), b.principal, b.Action.ID, action.CreateVersion{
		Requirements: ruled(`has(context.payee) && context.payee in list("known")`, `has(context.payee) && context.payee in list("ended")`), ContextSchema: json.RawMessage(kept),
	})
	require.NoError(t, err)
	got, err := b.Simulate(t.Context(), b.Scope, v, policy.Sandbox, authorization.Window{Last: 10, List: 10})
	require.NoError(t, err)
	require.Equal(t, map[policy.Effect]int{policy.Allow: 2, policy.Deny: 1}, got.After)
	require.Equal(t, ids[0], got.Moves[0].Authorization)
	require.Equal(t, []string{"rule_a"}, got.Moves[0].Rules)
	require.Equal(t, []authorization.SimulatedList{{Name: "ended", Version: 2}, {Name: "known", Version: 2}}, got.Lists)

	b.Exec("delete from kept_values")
	got, err = b.Simulate(t.Context(), b.Scope, v, policy.Sandbox, authorization.Window{Last: 10, List: 10})
	require.NoError(t, err)
	require.Equal(t, 2, got.NotDecidable)
	require.Equal(t, []string{"context.payee"}, got.Undecided[0].Rules[0].Unknown)
}

func TestSimulateFollowUpKeepsTheRulesOfItsRequest(t *testing.T) {
	t.Parallel()
	b, ids, simulate := simulated(t, amountKept, ruled(`has(context.amount) && context.amount > 100.0`), `{"amount": 500}`)
	parent, err := authorization.TraceDecision(t.Context(), b.Store.Q, b.Scope, ids[0])
	require.NoError(t, err)
	b.clock.Advance(time.Minute)
	next, err := b.Service.FollowUp(t.Context(), b.Store.Q, settle.FollowUp{Scope: b.Scope, Parent: parent.Authorization.ID, At: b.clock.Now(), Actor: "workflow:test", HoldApproved: true})
	require.NoError(t, err)

	b.Exec("delete from kept_values where authorization_id = $1", next.ID)
	got := simulate(authorization.Window{Last: 1, List: 1})
	require.Equal(t, []string{"rule_a"}, got.Moves[0].Rules, "the rule applied to the request")
	require.Equal(t, next.ID, got.Moves[0].Authorization)
	b.Exec("delete from kept_values")
	got = simulate(authorization.Window{Last: 1, List: 1})
	require.Equal(t, []authorization.UndecidedRule{{Rule: "rule_a", Unknown: []string{"context.amount"}}}, got.Undecided[0].Rules)
}
