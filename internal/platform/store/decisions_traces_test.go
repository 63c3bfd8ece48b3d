package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

// The list of one kind of decision is the list of all without the others, in the same order, page by page, on whole and on divided tables.
func TestTracesOfOneKindAreThoseOfAll(t *testing.T) {
	t.Parallel()
	for name, st := range map[string]*store.Store{"whole": newPartWorld(t), "divided": divided(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			p := newDecider(t, st.Pool().Config().ConnString())
			kinds := []string{"allow", "challenge", "allow", "hold", "deny", "deny", "allow"}
			_, err := st.Pool().Exec(ctx, `insert into actions values ('act_1', 'tnt_1', 'env_1', 'a', '', '', 'high', '', '{}', 'enforce', '{}', '{}', 60, null, now(), now())`)
			require.NoError(t, err)
			for n := range 60 {
				d := decision(partNow.AddDate(0, 0, n/4), 1, n) // four at a time
				a := &d.Authorization
				a.Decision = kinds[n%len(kinds)]
				require.NoError(t, p.write(ctx, d))
				for i, kind := range []string{"authorization.decided", "outcome.reported"} {
					_, err := st.Pool().Exec(ctx, `insert into events (id, tenant_id, environment_id, type, at, actor, digest, authorization_id, decision)
						values ($1, 'tnt_1', 'env_1', $2, $3, '', '', $4, $5)`, fmt.Sprintf("evt%s%d", a.ID[3:], i), kind, a.DecidedAt, a.ID, a.Decision)
					require.NoError(t, err)
				}
			}
			since, until := partNow.AddDate(0, 0, 2), partNow.AddDate(0, 0, 12)
			for _, f := range []store.TraceFilter{{}, {Action: "a"}, {Since: &since}, {Since: &since, Until: &until}, {Mode: "shadow"}} {
				all := traced(t, st, f, "", 100)
				for _, kind := range []string{"allow", "challenge", "hold", "deny"} {
					want := slices.DeleteFunc(slices.Clone(all), func(s [2]string) bool { return s[1] != kind })
					f.Decision = kind
					require.Equal(t, want, traced(t, st, f, kind, 3), "%s of %+v", kind, f)
				}
			}
		})
	}
}

// traced lists decisions in pages: their ids, and what was decided.
func traced(t *testing.T, st *store.Store, f store.TraceFilter, kind string, limit int) (out [][2]string) {
	t.Helper()
	f.Decision = kind
	for p := (store.Page{Limit: limit}); ; {
		traces, next, err := st.Decisions().Traces(t.Context(), store.Scope{Tenant: "tnt_1", Environment: "env_1"}, f, p)
		require.NoError(t, err)
		for _, x := range traces {
			out = append(out, [2]string{x.Authorization.ID, x.Authorization.Decision})
		}
		if p.After = next; next == "" {
			return out
		}
	}
}
