package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// partsOfDecisions has, for each table, the decisions that it has rows of.
func partsOfDecisions(t *testing.T, st *store.Store) map[string][][2]string {
	t.Helper()
	out := map[string][][2]string{"authorizations": pairs(t, st, "select id, '' from authorizations order by 1")}
	for _, table := range append([]string{"decision_keys"}, models.DecisionParts...) {
		out[table] = pairs(t, st, "select authorization_id, '' from "+table+" order by 1")
	}
	return out
}

// Decisions in every state are in a partition that an interrupted call left, and in the first one, whose range is around it. What is current
// stays with its keys and parts, and of the rest no row stays.
func TestDropPartitionsDropsTheKeysAndPartsOfWhatIsGone(t *testing.T) {
	t.Parallel()
	st := divided(t)
	ctx := t.Context()
	p := newDecider(t, st.Pool().Config().ConnString())
	exec := func(statement string, args ...any) {
		t.Helper()
		_, err := st.Pool().Exec(ctx, statement, args...)
		require.NoError(t, err, statement)
	}
	december, january := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	before := january.AddDate(0, 1, 0)
	states := []string{
		"",
		"insert into challenges (id, tenant_id, environment_id, authorization_id, subject_uid, status, methods, display, display_digest, action_hash, random, created_at, expires_at) values ($1, 'tnt_1', 'env_1', $1, 'sub_1', 'open', '{}', '{}', '', '', '', now(), now())",
		"insert into challenges (id, tenant_id, environment_id, authorization_id, subject_uid, status, methods, display, display_digest, action_hash, random, created_at, expires_at) values ($1, 'tnt_1', 'env_1', $1, 'sub_1', 'completed', '{}', '{}', '', '', '', now(), now())",
		"insert into holds (authorization_id, tenant_id, environment_id, action_id, subject_uid, risk_class, status, opened_at, remind_at, due_at) values ($1, 'tnt_1', 'env_1', 'act_1', 'sub_1', 'high', 'pending', now(), now(), now())",
		"insert into holds (authorization_id, tenant_id, environment_id, action_id, subject_uid, risk_class, status, opened_at, remind_at, due_at) values ($1, 'tnt_1', 'env_1', 'act_1', 'sub_1', 'high', 'rejected', now(), now(), now())",
		"update authorizations set decided_at = '2027-06-01' where id = $1",
	}
	current := map[string]bool{}
	add := func(at time.Time, n int, state int) *store.Decision {
		d := decision(at, 1, n)
		d.Proof.JTI = ids.Lowest("prf", at.Add(time.Duration(rand.IntN(120))*time.Second))[:22] + fmt.Sprintf("01%06d", n) // may be of the next month
		require.NoError(t, p.write(ctx, d))
		if states[state] != "" {
			exec(states[state], d.Authorization.ID)
		}
		for _, part := range []string{
			"insert into move_requests (authorization_id, environment_id, target, digest, move, actor, request_id, requested_at) values ($1, 'env_1', $1, '', 'cancel', '', '', now())",
			`insert into shown_details values ($1, 'tnt_1', 'env_1', 'sub_1', '\x01', now())`, `insert into kept_values values ($1, 'tnt_1', 'env_1', 'sub_1', '\x01', now())`,
		} {
			exec(part, d.Authorization.ID)
		}
		current[d.Authorization.ID] = strings.Contains(states[state], "'open'") || strings.Contains(states[state], "'pending'") || strings.Contains(states[state], "2027-06-01")
		return d
	}
	n := 0
	// The last minute of December is in it, and the first of January stays.
	for ; n < 60; n++ {
		add(january.Add(-time.Minute-time.Duration(rand.IntN(30*24))*time.Hour), n, n%len(states))
	}
	parent, child := add(january.Add(-time.Minute), 100, 0), add(january.AddDate(0, 2, 0), 101, 0)
	exec("update authorizations set parent_id = $1 where id = $2", parent.Authorization.ID, child.Authorization.ID)
	for _, d := range []*store.Decision{parent, child, add(january.Add(time.Minute), 102, 5)} {
		current[d.Authorization.ID] = true
	}
	exec(`alter table authorizations detach partition authorizations_20261201; alter table authorizations_20261201 rename to authorizations_20261201_dropped;
		alter table authorizations detach partition authorizations_00000000;
		alter table authorizations attach partition authorizations_00000000 for values from (minvalue) to ('` + ids.Lowest("azn", january) + "')")
	for ; n < 70; n++ {
		add(december.AddDate(0, 0, -3*(n%2)).Add(time.Duration(n%2)*time.Hour), n, 0)
		add(january.Add(-time.Second), n+20, 4)
	}
	// The key of a decision that is gone, which an earlier version left.
	exec(`insert into decision_keys values ('env_1', 'left', 'left', $1)`, ids.Lowest("azn", january.AddDate(0, 0, -9)))

	want := partsOfDecisions(t, st)
	for table, rows := range want {
		kept := rows[:0]
		for _, r := range rows {
			if current[r[0]] {
				kept = append(kept, r)
			}
		}
		want[table] = kept
	}
	want["authorizations"] = want["decision_keys"]
	rows, err := st.DropPartitions(ctx, "authorizations", before, func(*store.Q, []store.EnvironmentCount) error { return nil })
	require.NoError(t, err)
	require.EqualValues(t, 20+30, rows)
	require.Equal(t, want, partsOfDecisions(t, st))
	require.NoError(t, p.repeat(ctx, parent))
	require.Equal(t, [][2]string{{"0", ""}}, pairs(t, st, `select count(*)::text, '' from pg_class where relname like '%\_dropped'`))
	requireSampling(t, st) // the first partition is a new one
}
