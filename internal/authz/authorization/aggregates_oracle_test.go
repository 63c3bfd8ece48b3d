package authorization_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// history is a random history of requests, whose contexts are written down in plain for the oracle.
type history struct {
	*bundle
	random     *rand.Rand
	challenges *challenge.Service
	holds      *hold.Service
	subjects   []models.Subject
	reported   map[string]bool // nonces of requests with an outcome
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{random: rand.New(rand.NewPCG(seed, 39)), reported: map[string]bool{}}
	h.bundle = counting(t,
		denyRule("payee", `context.payee == "d"`, false),
		policy.Rule{Name: "held", When: `context.payee in ["b", "e"]`, Requirements: policy.Stricter{HoldOn: []string{reason.RuleMatched}}, Reason: "Held"},
		policy.Rule{Name: "both", When: `context.payee in ["c", "e"]`, Requirements: policy.Stricter{ExplicitApprovalRequired: true}, Reason: "Challenged"},
		denyRule("limit", `subject.sum("amount", "payments.transfer", "allow", "24h") > 100000`, true),
		denyRule("many", `resource.distinct("subject", "payments.transfer", "allow", "24h") > 100000`, true),
	)
	env := models.Environment{ID: h.Scope.Environment, TenantID: h.Scope.Tenant}
	h.subjects = []models.Subject{h.Subject, storetest.Subject(t, h.Store, env, "user_2"), storetest.Subject(t, h.Store, env, "user_3")}
	ring, err := keyring.Parse(keyring.Generate())
	require.NoError(t, err)
	h.challenges = challenge.New(challenge.Deps{Store: h.Store, Clock: h.clock, Keyring: ring, Decide: h.Service.FollowUp})
	h.holds = hold.New(hold.Deps{Store: h.Store, Clock: h.clock, Decide: h.Service.FollowUp})
	h.Exec("create table if not exists oracle (id text, amount numeric, currency text, payee text, subject text, resource text)")
	return h
}

// pick returns the id that a query selects, at random; "" if there is none.
func (h *history) pick(query string) string {
	var id string
	_ = h.Store.Pool().QueryRow(context.Background(), "select coalesce((select id from ("+query+") x order by md5(id || $1) limit 1), '')", fmt.Sprint(h.random.Uint64())).Scan(&id)
	return id
}

func (h *history) request(t *testing.T) {
	r := h.bundle.request()
	amount, currency := fmt.Sprintf("%d.%02d", h.random.IntN(500), h.random.IntN(100)), []string{"EUR", "USD"}[h.random.IntN(2)]
	payee := string("abcdefgh"[h.random.IntN(8)])
	r.Resource.ID = []string{"acc_1", "acc_2"}[h.random.IntN(2)]
	by := h.subjects[h.random.IntN(len(h.subjects))]
	r.Subject = by.ExternalID
	r.Context = json.RawMessage(fmt.Sprintf(`{"amount": %q, "currency": %q, "payee": %q}`, amount, currency, payee))
	got, err := h.authorize(t, r)
	require.NoError(t, err)
	h.Exec("insert into oracle values ($1, $2, $3, $4, $5, $6)", got.ID, amount, currency, payee, by.UID, r.Resource.ID)
}

// moves are the moves of a history beside its requests.
var moves = map[string]func(h *history, t *testing.T){
	"time passes": func(h *history, _ *testing.T) {
		all := []time.Duration{time.Second, 15 * time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}
		h.clock.Advance(all[min(h.random.IntN(8), h.random.IntN(len(all)))])
	},
	"due": func(h *history, t *testing.T) {
		if id := h.pick("select id from challenges where status = 'open'"); id != "" {
			_, err := h.challenges.Expire(t.Context(), challenge.Move{ID: id, Environment: h.Scope.Environment, At: h.clock.Now()})
			require.NoError(t, err)
		}
		if id := h.pick("select authorization_id as id from holds where status = 'pending'"); id != "" {
			_, err := h.holds.Expire(t.Context(), hold.Move{ID: id, Environment: h.Scope.Environment, At: h.clock.Now()})
			require.NoError(t, err)
		}
	},
	"challenge": func(h *history, t *testing.T) {
		id := h.pick("select id from challenges where status = 'open'")
		if id == "" {
			return
		}
		method, digest := "sandbox_confirm", []byte(ids.New(ids.Request))
		m := models.MoveRequest{Target: id, Digest: digest, EnvironmentID: h.Scope.Environment, Move: []string{"complete", "cancel"}[h.random.IntN(2)], Actor: "test", RequestedAt: h.clock.Now(), Method: &method}
		require.NoError(t, h.Store.Pool().QueryRow(t.Context(), "select authorization_id from challenges where id = $1", id).Scan(&m.AuthorizationID))
		require.NoError(t, settle.InsertMove(t.Context(), h.Store.Q, m))
		move := challenge.Move{ID: id, Environment: h.Scope.Environment, Request: digest, At: h.clock.Now()}
		if m.Move == "cancel" {
			_, _ = h.challenges.Cancel(t.Context(), move) // refused if it is due
		} else {
			_, _ = h.challenges.Complete(t.Context(), move)
		}
	},
	"hold": func(h *history, t *testing.T) {
		id := h.pick("select authorization_id as id from holds where status = 'pending'")
		if id == "" {
			return
		}
		digest := []byte(ids.New(ids.Request))
		m := models.MoveRequest{Target: id, Digest: digest, EnvironmentID: h.Scope.Environment, AuthorizationID: id, Move: []string{hold.Approve, hold.Reject}[h.random.IntN(2)],
			Actor: h.Principal("crd_reviewer").Actor(), RequestedAt: h.clock.Now()}
		require.NoError(t, settle.InsertMove(t.Context(), h.Store.Q, m))
		_, _ = h.holds.Review(t.Context(), hold.Move{ID: id, Environment: h.Scope.Environment, Request: digest, At: h.clock.Now()})
		if m.Move == hold.Reject {
			var nonce string
			require.NoError(t, h.Store.Pool().QueryRow(t.Context(), "select nonce from authorizations where id = $1", id).Scan(&nonce))
			h.reported[nonce] = true
		}
	},
	"outcome": func(h *history, t *testing.T) {
		id := h.pick("select id from authorizations where outcome is null")
		if id == "" {
			return
		}
		var nonce string
		require.NoError(t, h.Store.Pool().QueryRow(t.Context(), "select nonce from authorizations where id = $1", id).Scan(&nonce))
		if h.reported[nonce] {
			return
		}
		h.reported[nonce] = true
		_, err := h.Outcome(t.Context(), h.principal, id, []string{"executed", "not_executed", "customer_override", "manually_rejected", "unknown", "confirmed_attack"}[h.random.IntN(6)], nil)
		require.NoError(t, err)
	},
	"consumption": func(h *history, _ *testing.T) {
		if id := h.pick("select jti as id from proofs where status = 'active' and expires_at > '" + h.clock.Now().Format(time.RFC3339Nano) + "'"); id != "" {
			h.Exec("update proofs set status = 'consumed', consumed_at = $2 where jti = $1", id, h.clock.Now())
		}
	},
	"recovery": func(h *history, t *testing.T) {
		if h.random.IntN(4) > 0 {
			return
		}
		require.NoError(t, h.Store.Write(t.Context(), func(q *pg.Q) error {
			return subject.Void{Subject: h.subjects[h.random.IntN(len(h.subjects))], Reason: subject.ReasonRecovery, At: h.clock.Now(), Actor: "test"}.Open(t.Context(), q)
		}))
	},
	"erasure of one": func(h *history, _ *testing.T) {
		if id := h.pick("select id from authorizations a where parent_id is null and not exists (select from authorizations c where c.parent_id = a.id)"); id != "" && h.random.IntN(3) == 0 {
			h.Exec("delete from aggregate_values where request_id = $1", id)
			h.Exec("delete from authorizations where id = $1", id)
		}
	},
}

// The oracle derives what counts from the decisions and from everything that became of them, in plain SQL.
const (
	decidedOracle = `select o.amount, o.payee, o.subject from oracle o join authorizations r on r.id = o.id where $1 in ('', o.currency) and $4 in (o.subject, o.resource) and case when $2 = 'any' then r.decided_at > $3
		else (select min(a.decided_at) from authorizations a where a.nonce = r.nonce and a.decision = $2) > $3 end and @payee and (not @unapproved or r.decision = 'allow' and r.standing_id is null)`
	reservedOracle = `select o.amount, o.payee, o.subject from oracle o join authorizations r on r.id = o.id join authorizations l on l.nonce = r.nonce
			and not exists (select from authorizations c where c.parent_id = l.id)
			left join lateral (select outcome in ('executed', 'manually_approved', 'customer_override') as moved, outcome_reported_at as at
				from authorizations a where a.nonce = r.nonce and outcome <> 'unknown' and (a.outcome <> 'manually_rejected' or a.outcome_reported_at >= l.decided_at)
					and (a.outcome <> 'not_executed' or a.outcome_reported_at >= l.decided_at)
					and outcome in ('executed', 'manually_approved', 'customer_override', 'not_executed', 'manually_rejected') limit 1) said on true
		where $1 in ('', o.currency) and $2 = 'allow' and $4 in (o.subject, o.resource) and @payee and (
			l.decision = 'allow' and l.decided_at > $3 and (not @unapproved or l.id = r.id and r.standing_id is null)
				and (coalesce(said.moved, true) or exists (select from proofs p where p.authorization_id = l.id and p.status = 'consumed'))
				and (coalesce(said.moved, false) or not exists (select from proofs p where p.authorization_id = l.id and p.status = 'revoked'))
			or not @unapproved and said.moved is null and l.decided_at > $5 and (exists (select from challenges c where c.authorization_id = l.id and c.status = 'open')
				or exists (select from holds h where h.authorization_id = l.id and h.status = 'pending'))
			or l.decision <> 'allow' and said.moved and said.at > $3)`
)

// compare compares every number of a subject and of a resource with the oracle's.
func (h *history) compare(t *testing.T, after string) {
	t.Helper()
	account, err := canonical.ResourceDigest("account", "acc_1")
	require.NoError(t, err)
	of := aggregate.Of{Scope: h.Scope, Subject: h.Subject.ExternalID, Resource: []string{account}}
	for _, window := range []time.Duration{15 * time.Minute, 24 * time.Hour, 30 * 24 * time.Hour} {
		for _, outcome := range []string{"allow", "challenge", "hold", "deny", "any", "reserved"} {
			read := aggregate.Read{Action: "payments.transfer", Decision: outcome, Since: h.clock.Now().Add(-window), At: h.clock.Now()}
			oracle, counted := decidedOracle, outcome
			payee, unapproved := "", false
			if read.Filter = h.filter(t, outcome); read.Filter != nil {
				unapproved = read.Filter.Unapproved
				if len(read.Filter.Fields) > 0 {
					payee = "b"
				}
			}
			switch outcome {
			case "any":
				read.Decision = ""
			case "reserved":
				oracle, counted = reservedOracle, "allow"
				read.Decision, read.Reserved = counted, true
			}
			for _, number := range []struct{ field, currency, of string }{
				{"amount", "EUR", "coalesce(sum(amount), 0)"}, {"payee", "", "count(distinct payee)"}, {rules.SubjectField, "", "count(distinct subject)"},
				{"payee", "", "count(*)"},
			} {
				if number.of == "count(*)" && read.Filter == nil {
					continue
				}
				for holder, resource := range map[string]bool{h.Subject.UID: false, "acc_1": true} {
					read.Resource, read.Field, read.Currency, read.Kind = resource, number.field, number.currency, aggregate.Distinct
					if number.currency != "" {
						read.Kind = aggregate.Sum
					} else if number.of == "count(*)" {
						read.Kind = aggregate.Requests
					}
					var want string
					args := []any{number.currency, counted, read.Since, holder}
					if outcome == "reserved" {
						waits := time.Time{} // since when what still waits counts
						if resource {
							waits = h.clock.Now().Add(-15 * time.Minute)
						}
						args = append(args, waits)
					}
					query := strings.NewReplacer("@payee", fmt.Sprintf("'%s' in ('', o.payee)", payee), "@unapproved", fmt.Sprint(unapproved)).Replace(oracle)
					require.NoError(t, h.Store.Pool().QueryRow(t.Context(), "select "+number.of+"::text from ("+query+") x", args...).Scan(&want))
					require.Equal(t, want, h.read(t, of, read), "%s of %s, %s in %s, after %s, of payee %q, unapproved %t", number.of, holder, outcome, window, after, payee, unapproved)
				}
			}
		}
	}
}

// filter is a filter at random: none, of payee b, of what no person approved, or of both.
func (h *history) filter(t *testing.T, outcome string) *aggregate.Filter {
	t.Helper()
	f := aggregate.Filter{Fields: []string{}}
	if h.random.IntN(2) == 0 {
		f.Fields = []string{"payee"}
		f.Digests = [][]byte{{1}}
		rows, err := h.Store.Pool().Query(t.Context(), "select distinct v.digest from aggregate_values v join oracle o on o.id = v.request_id where v.field = 'payee' and o.payee = 'b'")
		require.NoError(t, err)
		found, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), 1)
		f.Digests = append(f.Digests, found...)
	}
	f.Unapproved = (outcome == "allow" || outcome == "reserved") && h.random.IntN(2) == 0
	if len(f.Fields) == 0 && !f.Unapproved {
		return nil
	}
	return &f
}

// read reads a number as a decision does.
func (h *history) read(t *testing.T, of aggregate.Of, r aggregate.Read) string {
	t.Helper()
	var got *string
	b := &pgx.Batch{}
	aggregate.QueueRead(b, of, r, func(n *string) { got = n })
	require.NoError(t, h.Store.Batch(t.Context(), b))
	require.NotNil(t, got)
	return *got
}

func TestAggregatesAreThoseOfAPlainOracle(t *testing.T) {
	t.Parallel()
	names := []string{"time passes", "time passes", "due", "challenge", "challenge", "challenge", "hold", "hold", "hold", "consumption", "outcome", "outcome", "recovery", "erasure of one"}
	var followUps atomic.Int64
	t.Cleanup(func() { require.Positive(t, followUps.Load(), "follow-up decisions of all histories") })
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, seed)
			for range 80 {
				h.clock.Advance(time.Millisecond) // of two moves at one time the oracle would not know which was first
				after := "a request"
				if h.random.IntN(2) == 0 {
					h.request(t)
				} else {
					after = names[h.random.IntN(len(names))]
					moves[after](h, t)
				}
				h.compare(t, after)
			}
			h.Exec("update authorizations set standing_id = 'sta_any' where parent_id is null and decision = 'allow' and md5(id) < '6'")
			for range 5 {
				h.compare(t, "standing approvals")
			}
			followUps.Add(int64(h.Count("select count(*) from aggregate_values where not first")))
		})
	}
}

// The policy in force decides the stored decisions of a random history as they were decided, or not at all.
func TestSimulationOfThePolicyInForceChangesNothing(t *testing.T) {
	t.Parallel()
	names := []string{"time passes", "due", "challenge", "challenge", "hold", "hold", "outcome", "recovery"}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, seed)
			requirements := allowing
			requirements.Rules = []policy.Rule{
				{Name: "held", When: `context.payee in ["b", "e"]`, Requirements: policy.Stricter{HoldOn: []string{reason.RuleMatched}}, Reason: "Held"},
				{Name: "both", When: `context.payee in ["c", "e"]`, Requirements: policy.Stricter{ExplicitApprovalRequired: true}, Reason: "Challenged"},
				denyRule("limit", `subject.sum("amount", "payments.transfer", "allow", "24h") + decimal(context.amount) > 900`, true),
				denyRule("week", `subject.sum("amount", "payments.transfer", "any", "7d") > 4000`, false),
				denyRule("payees", `subject.distinct("payee", "payments.transfer", "allow", "24h") > 3`, false),
				denyRule("new", `subject.sum("amount", "payments.transfer", "allow", "7d") > 600 && !subject.seen("payee", context.payee, "30d")`, false),
				denyRule("account", `resource.sum("amount", "payments.transfer", "allow", "24h") > 1500`, true),
				denyRule("same", `subject.sum("amount", "payments.transfer", "allow", "7d", {"payee": context.payee}) + decimal(context.amount) > 700`, true),
				denyRule("alone", `subject.sum("amount", "payments.transfer", "allow", "24h", {"approved_by_person": false}) > 800`, true),
				denyRule("often", `subject.decisions("payments.transfer", "any", "24h", {"payee": context.payee}) >= 4`, false),
				denyRule("busy", `subject.decisions("payments.transfer", "allow", "24h", {"approved_by_person": false}) >= 6`, false),
				denyRule("fixed", `resource.distinct("subject", "payments.transfer", "allow", "24h", {"payee": "A"}) > 2`, false),
				denyRule("shared", `resource.distinct("subject", "payments.transfer", "allow", "24h") > 2 && resource.distinct("payee", "payments.transfer", "any", "1h") > 2`, false),
			}
			v, err := h.actions.CreateVersion(t.Context(), h.principal, h.Action.ID, action.CreateVersion{Requirements: requirements, ContextSchema: json.RawMessage(keptCounted)})
			require.NoError(t, err)
			_, err = h.actions.Activate(t.Context(), h.principal, h.Action.ID, v.Version)
			require.NoError(t, err)
			for range 120 {
				if h.random.IntN(3) > 0 {
					h.clock.Advance([]time.Duration{time.Second, 10 * time.Minute, 2 * time.Hour}[h.random.IntN(3)])
					h.request(t)
				} else {
					moves[names[h.random.IntN(len(names))]](h, t)
				}
			}
			got, err := h.Simulate(t.Context(), h.Scope, v, policy.Sandbox, authorization.Window{Last: 1000, List: 1000})
			require.NoError(t, err)
			require.Empty(t, got.Moves)
			require.Equal(t, got.Before, got.After)
			require.Positive(t, got.Decisions, "decided, beside %d that are not known", got.NotDecidable)
		})
	}
}
