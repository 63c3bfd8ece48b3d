package standing_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	_ "github.com/countersign-dev/countersign/internal/testing/tables"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// oracle counts the uses of one standing approval in plain numbers, in cents.
type oracle struct {
	uses, maxUses, cents, maxCents int
	ended                          bool
}

func (o *oracle) reserve(cents int) bool {
	if o.ended || o.uses == o.maxUses || o.cents+cents > o.maxCents {
		return false
	}
	o.uses, o.cents = o.uses+1, o.cents+cents
	return true
}

func (o *oracle) giveBack(cents int) bool {
	if o.ended {
		return false
	}
	o.uses, o.cents = o.uses-1, o.cents-cents
	return true
}

// Over random traces of uses, returns and ends, the stored counts are those of the oracle.
func TestCountsAreThoseOfTheOracle(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	st := storetest.New(t)
	w := fixture.New(t, st, now)
	w.Exec("update actions set active_policy_version = 1 where id = $1", w.Action.ID)
	testenv.Attest(t, st)
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 52))
			o := oracle{maxUses: 1 + r.IntN(8), maxCents: 1 + r.IntN(5000)}
			most := fmt.Sprintf("%d.%02d", o.maxCents/100, o.maxCents%100)
			row := models.StandingApproval{
				ID: fmt.Sprintf("sta_%d", seed), TenantID: w.Scope.Tenant, EnvironmentID: w.Scope.Environment, SubjectUID: w.Subject.UID, ActionID: w.Action.ID,
				ActionKey: w.Action.Key, PolicyVersion: 1, PolicyHash: "h", Mode: models.ModeEnforce, Source: "passkey", Audience: "payments-api", ResourceType: "account",
				Terms: []byte{1}, MaxUses: o.maxUses, MaxAmount: &most, Currency: "EUR", EndsAt: now.Add(time.Hour), CreatedAt: now, CreatedBy: "credential:crd_1",
				Status: models.StandingPending, AuthorizationID: "azn_1", AmountUsed: "0",
			}
			write := func(f func(q *pg.Q) error) { require.NoError(t, st.Write(t.Context(), f)) }
			write(func(q *pg.Q) error { return standing.Create(t.Context(), q, row) })
			write(func(q *pg.Q) error {
				begun, err := standing.Advance{ID: row.ID, Parent: "azn_1", Made: "azn_2", Begins: true, At: now}.Make(t.Context(), q, w.Scope)
				require.True(t, begun)
				return err
			})
			var given []int // the amounts of uses that can be returned
			for range 60 {
				switch n := r.IntN(20); {
				case n == 0 && r.IntN(3) == 0:
					write(func(q *pg.Q) error {
						return standing.Ending{Reason: standing.ReasonRevoked, By: "credential:crd_1", At: now}.One(t.Context(), q, row)
					})
					o.ended = true
				case n < 8 && len(given) > 0:
					last := given[len(given)-1]
					given = given[:len(given)-1]
					amount := fmt.Sprintf("%d.%02d", last/100, last%100)
					write(func(q *pg.Q) error {
						returned, err := standing.GiveBack(t.Context(), q, models.Authorization{
							TenantID: w.Scope.Tenant, EnvironmentID: w.Scope.Environment, StandingID: &row.ID, StandingAmount: &amount,
						})
						require.Equal(t, o.giveBack(last), returned)
						return err
					})
				default:
					cents := r.IntN(1500)
					var reserved bool
					write(func(q *pg.Q) (err error) {
						_, reserved, err = standing.Reserve(t.Context(), q, row, fmt.Sprintf("%d.%02d", cents/100, cents%100), now)
						return err
					})
					require.Equal(t, o.reserve(cents), reserved)
					if reserved {
						given = append(given, cents)
					}
				}
				require.Equal(t, o.uses, w.Count("select uses from standing_approvals where id = $1", row.ID))
				require.Equal(t, o.cents, w.Count("select (amount_used * 100)::int from standing_approvals where id = $1", row.ID))
			}
			write(func(q *pg.Q) error {
				_, late, err := standing.Reserve(t.Context(), q, row, "0", now.Add(time.Hour))
				require.False(t, late)
				return err
			})
		})
	}
}

// The sentence says everything that is allowed, in either language.
func TestSentence(t *testing.T) {
	t.Parallel()
	a := standing.Allowance{
		Action: "Release a payment", ResourceType: "supplier", Terms: standing.Terms{Resource: "supplier-12", Agent: "billing-bot"}, Audience: "payments-api", MaxUses: 40,
		Amount: "500.00", Currency: "EUR", EndsAt: "2026-12-21T09:30:00.000Z",
	}
	for name, c := range map[string]struct {
		change func(*standing.Allowance)
		en, de string
	}{
		"all": {func(*standing.Allowance) {},
			"“Release a payment” on the supplier “supplier-12” is allowed for payments-api until 21 December 2026, 09:30 UTC, up to 40 times, for at most 500.00 EUR in total, when the agent “billing-bot” asks, without asking again.",
			"„Release a payment“ für supplier „supplier-12“ ist für payments-api bis 21.12.2026, 09:30 UTC bis zu 40-mal erlaubt, für insgesamt höchstens 500.00 EUR, wenn der Agent „billing-bot“ anfragt, ohne erneute Bestätigung."},
		"any, once": {func(a *standing.Allowance) {
			a.Terms, a.MaxUses, a.Amount = standing.Terms{Any: true}, 1, ""
		}, "“Release a payment” on any supplier is allowed for payments-api until 21 December 2026, 09:30 UTC, once, without asking again.",
			"„Release a payment“ für jedes Objekt der Art supplier ist für payments-api bis 21.12.2026, 09:30 UTC einmal erlaubt, ohne erneute Bestätigung."},
		"prefix": {func(a *standing.Allowance) {
			a.Terms, a.Amount = standing.Terms{Prefix: "supplier-"}, ""
		}, "“Release a payment” on any supplier whose id begins with “supplier-” is allowed for payments-api until 21 December 2026, 09:30 UTC, up to 40 times, without asking again.",
			"„Release a payment“ für jedes Objekt der Art supplier, dessen Kennung mit „supplier-“ beginnt, ist für payments-api bis 21.12.2026, 09:30 UTC bis zu 40-mal erlaubt, ohne erneute Bestätigung."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := a
			c.change(&changed)
			require.Equal(t, c.en, changed.Sentence(standing.English))
			require.Equal(t, c.de, changed.Sentence(standing.German))
			shown, err := changed.Detail()
			require.NoError(t, err)
			read, ok := standing.AllowanceIn(shown)
			require.True(t, ok)
			require.Equal(t, changed, read)
		})
	}
}
