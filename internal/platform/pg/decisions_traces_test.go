package pg_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// The list of one kind of decision is the list of all without the others, in the same order, page by page.
func TestTracesOfOneKindAreThoseOfAll(t *testing.T) {
	t.Parallel()
	st := newPlainWorld(t)
	kinds := []string{"allow", "challenge", "allow", "hold", "deny", "deny", "allow"}
	execute(t, st, `insert into actions values ('act_1', 'tnt_1', 'env_1', 'a', '', '', 'high', '', '{}', 'enforce', '{}', '{}', 60, null, now(), now())`)
	for n := range 60 {
		d := decision(plainNow.AddDate(0, 0, n/4), n) // four at a time
		d.Authorization.Decision = kinds[n%len(kinds)]
		other := d.Events[0]
		other.ID, other.Type = other.ID+"_other", "outcome.reported"
		d.Events = append(d.Events, other)
		write(t, st, d)
	}
	since, until := plainNow.AddDate(0, 0, 2), plainNow.AddDate(0, 0, 12)
	for _, f := range []authorization.TraceFilter{{}, {Action: "a"}, {Since: &since}, {Since: &since, Until: &until}, {Mode: "shadow"}} {
		all := traced(t, st, f, "", 100)
		for _, kind := range []string{"allow", "challenge", "hold", "deny"} {
			want := slices.DeleteFunc(slices.Clone(all), func(s [2]string) bool { return s[1] != kind })
			f.Decision = kind
			require.Equal(t, want, traced(t, st, f, kind, 3), "%s of %+v", kind, f)
		}
	}
}

// traced lists decisions in pages: their ids, and what was decided.
func traced(t *testing.T, st *pg.Store, f authorization.TraceFilter, kind string, limit int) (out [][2]string) {
	t.Helper()
	f.Decision = kind
	for p := (pg.Page{Limit: limit}); ; {
		traces, next, err := authorization.ListTraces(t.Context(), st.Q, pg.Scope{Tenant: "tnt_1", Environment: "env_1"}, f, p)
		require.NoError(t, err)
		for _, x := range traces {
			out = append(out, [2]string{x.Authorization.ID, x.Authorization.Decision})
		}
		if p.After = next; next == "" {
			return out
		}
	}
}
