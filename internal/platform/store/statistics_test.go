package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

// statisticsTarget is that of the other columns of the tables below: ANALYZE reads 7,500 rows and not 30,000, in a sixth of the time.
const statisticsTarget = 25

// unsampled lists columns by which no statement selects, joins or sorts, of the tables that grow with every decision. ANALYZE sorts the
// sampled values of each column: of a young database that makes a thousand decisions a second, that was a second of CPU every minute, in
// one burst.
var unsampled = map[string][]string{
	"authorizations": {
		"credential_id", "actor", "resource_type", "resource_digest", "context_digest", "action_hash", "audience", "request_hash", "latency_ms",
		"trace_id", "reason_codes", "policy_hash", "insufficient", "operator_changed", "challenges_used", "challenge_completed", "hold_approved",
		"assurance", "explanation", "response", "outcome_note_digest", "session_pinned", "record", "digests",
	},
	"proofs":           {"audience", "compact", "consumed_by", "revoked_reason", "sealed"},
	"events":           {"request_id", "workflow_id", "data", "salt", "digest", "packed"},
	"audit_chain":      {"previous", "hash"},
	"webhook_attempts": {"status_code", "latency_ms", "response_digest", "error"},
}

// requireSampling requires that ANALYZE ignores the columns that are unsampled, and samples few rows for the others of their tables.
func requireSampling(t *testing.T, st *store.Store) {
	t.Helper()
	for table, columns := range unsampled {
		var differ []string
		require.NoError(t, st.Pool().QueryRow(t.Context(), `select coalesce(array_agg(c.relname || '.' || a.attname), '{}')
			from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
			where c.relkind in ('r', 'p') and (c.relname = $1 or c.oid in (select inhrelid from pg_inherits where inhparent = to_regclass($1)))
				and coalesce(a.attstattarget, -1) <> case when a.attname = any ($2) then 0 else $3::integer end`, table, columns, statisticsTarget).Scan(&differ))
		require.Empty(t, differ)
	}
}

// A whole database is sampled so, and each partition of a divided one.
func TestAnalyzeSamplesWhatIsSelected(t *testing.T) {
	t.Parallel()
	st := undivided(t)
	requireSampling(t, st)
	_, err := st.Contract(t.Context(), shown)
	require.NoError(t, err)
	_, err = st.Partition(t.Context(), time.Now(), shown)
	require.NoError(t, err)
	requireSampling(t, st)
}
