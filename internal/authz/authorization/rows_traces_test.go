package authorization_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// seldomListed are decisions of three months, of which nearly all are enforced and allowed. In each month each of two actions has eight in the
// mode shadow, two of each kind, 150 holds that were approved, two that expired, one of them unmarked, and one that is pending.
func seldomListed(t *testing.T, st *pg.Store) {
	t.Helper()
	statements := []string{`insert into actions select 'act_' || n, 'tnt_1', 'env_1', 'action_' || n, '', '', 'high', '', '{}', 'enforce', '{}', '{}', 60, null, now(), now()
		from generate_series(1, 2) n`}
	for month := range 3 {
		from := plainNow.AddDate(0, month, 0)
		statements = append(statements, fmt.Sprintf(`insert into authorizations (id, tenant_id, environment_id, credential_id, action_id, action_key, subject_uid, actor,
			resource_type, resource_digest, context_digest, action_hash, audience, nonce, request_hash, requested_at, decided_at, latency_ms, trace_id, mode, decision,
			reason_codes, policy_version, policy_hash, coverage, insufficient, assurance, explanation, response)
			select i, 'tnt_1', 'env_1', 'crd_1', 'act_' || 1 + n %% 2, 'action_' || 1 + n %% 2, 'sub_1', '', '', '', '', '', '', i, '', at, at, 1, '',
				case when n / 2 %% 200 = 7 then 'shadow' else 'enforce' end,
				case when n / 2 %% 10 = 1 then 'hold' when n / 2 %% 200 = 7 then (array['allow', 'challenge', 'hold', 'deny'])[1 + n / 400 %% 4] else 'allow' end,
				'{}', 1, '', 'none', false, '{}', '[]', '{}'
			from generate_series(0, 3199) n, lateral (select '%s' || lpad(n::text, 6, '0') as i, '%s'::timestamptz + n / 4 * interval '1 second' as at) k`,
			ids.Lowest("azn", from)[:24], from.Format(time.RFC3339)))
	}
	statements = append(statements, fmt.Sprintf(`insert into holds (authorization_id, tenant_id, environment_id, action_id, subject_uid, risk_class, status, opened_at, remind_at, due_at)
		select id, tenant_id, environment_id, action_id, subject_uid, 'high', case when n = 3 then 'expired' when n < 3 then 'pending' else 'approved' end, decided_at, decided_at,
			'%s'::timestamptz + case when n = 1 then interval '1 day' else '0' end
		from (select *, row_number() over (partition by action_id, date_trunc('month', decided_at) order by id) as n
			from authorizations where decision = 'hold' and mode = 'enforce') d`, plainNow.Format(time.RFC3339)))
	storetest.Exec(t, st, append(statements, "vacuum analyze authorizations", "vacuum analyze holds")...)
}

// A list by a mode that is seldom used, or by what became of a hold, reads what it lists, and not the decisions between.
func TestTracesThatAreSeldomReadThemselvesOnly(t *testing.T) {
	t.Parallel()
	whole := newPlainWorld(t)
	seldomListed(t, whole)
	st := storetest.OneConnection(t, whole.Pool().Config().ConnString())
	all := traced(t, whole, authorization.TraceFilter{}, "", 10_000)
	require.Len(t, all, 9600)
	since := plainNow.AddDate(0, 1, 0)
	at := strings.NewReplacer("@since", "'"+since.Format(time.RFC3339)+"'", "@now", "'"+plainNow.Format(time.RFC3339)+"'")
	for _, test := range []struct {
		filter    authorization.TraceFilter
		condition string
		listed    int
	}{
		{authorization.TraceFilter{Mode: "shadow"}, "a.mode = 'shadow'", 48},
		{authorization.TraceFilter{Mode: "shadow", Decision: "deny"}, "a.mode = 'shadow' and a.decision = 'deny'", 12},
		{authorization.TraceFilter{Mode: "shadow", Action: "action_2", Since: &since}, "a.mode = 'shadow' and a.action_id = 'act_2' and a.decided_at >= @since", 16},
		{authorization.TraceFilter{Mode: "test"}, "a.mode = 'test'", 0},
		{authorization.TraceFilter{ReviewStatus: "pending"}, "h.status = 'pending' and h.due_at > @now", 6},
		{authorization.TraceFilter{ReviewStatus: "expired"}, "h.status = 'expired' or h.status = 'pending' and h.due_at <= @now", 12},
		{authorization.TraceFilter{ReviewStatus: "expired", Since: &since}, "(h.status = 'expired' or h.status = 'pending' and h.due_at <= @now) and a.decided_at >= @since", 8},
		{authorization.TraceFilter{ReviewStatus: "rejected"}, "h.status = 'rejected'", 0},
	} {
		t.Run(test.condition, func(t *testing.T) {
			test.filter.Now = plainNow
			wanted := storetest.Pairs(t, whole, "select a.id, a.decision from authorizations a left join holds h on h.authorization_id = a.id where "+
				at.Replace(test.condition)+" order by a.decided_at desc, a.id desc")
			require.Len(t, wanted, test.listed)
			// All holds together are on so few pages that those of a page of decisions may be found by reading all.
			const reads = `select sum(case when relname = 'holds' then 0 else seq_tup_read end + idx_tup_fetch)::int from pg_stat_user_tables
				where relname ~ '^(authorizations|holds)'`
			before := storetest.Counted(t, st, reads)
			got := traced(t, st, test.filter, test.filter.Decision, 20)
			read := storetest.Counted(t, st, reads) - before
			require.Equal(t, fmt.Sprint(wanted), fmt.Sprint(got))
			require.LessOrEqual(t, read, 100)
		})
	}
}

// The list of one kind of decision is the list of all without the others, in the same order, page by page.
func TestTracesOfOneKindAreThoseOfAll(t *testing.T) {
	t.Parallel()
	st := newPlainWorld(t)
	kinds := []string{"allow", "challenge", "allow", "hold", "deny", "deny", "allow"}
	storetest.Exec(t, st, `insert into actions values ('act_1', 'tnt_1', 'env_1', 'a', '', '', 'high', '', '{}', 'enforce', '{}', '{}', 60, null, now(), now())`)
	for n := range 60 {
		d := decision(plainNow.AddDate(0, 0, n/4), n) // four at a time
		d.Authorization.Decision = kinds[n%len(kinds)]
		d.Events[0].Action = &d.Authorization.ActionKey
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
