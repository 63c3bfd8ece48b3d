package pg_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
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
	execute(t, st, append(statements, "vacuum analyze authorizations", "vacuum analyze holds")...)
}

// A list by a mode that is seldom used, or by what became of a hold, reads what it lists, and not the decisions between.
func TestTracesThatAreSeldomReadThemselvesOnly(t *testing.T) {
	t.Parallel()
	whole := newPlainWorld(t)
	seldomListed(t, whole)
	st := overOneConnection(t, whole.Pool().Config().ConnString())
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
			wanted := pairs(t, whole, "select a.id, a.decision from authorizations a left join holds h on h.authorization_id = a.id where "+
				at.Replace(test.condition)+" order by a.decided_at desc, a.id desc")
			require.Len(t, wanted, test.listed)
			// All holds together are on so few pages that those of a page of decisions may be found by reading all.
			const reads = `select sum(case when relname = 'holds' then 0 else seq_tup_read end + idx_tup_fetch)::int from pg_stat_user_tables
				where relname ~ '^(authorizations|holds)'`
			before := counted(t, st, reads)
			got := traced(t, st, test.filter, test.filter.Decision, 20)
			read := counted(t, st, reads) - before
			require.Equal(t, fmt.Sprint(wanted), fmt.Sprint(got))
			require.LessOrEqual(t, read, 100)
		})
	}
}
