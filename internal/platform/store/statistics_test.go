package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

// ANALYZE ignores the columns of models.Unsampled and no others, on a whole database and in each partition of a divided one.
func TestAnalyzeSamplesWhatIsSelected(t *testing.T) {
	t.Parallel()
	st := undivided(t)
	check := func() {
		t.Helper()
		for table, columns := range models.Unsampled {
			var differ []string
			require.NoError(t, st.Pool().QueryRow(t.Context(), `select coalesce(array_agg(c.relname || '.' || a.attname), '{}')
				from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
				where c.relkind in ('r', 'p') and (c.relname = $1 or c.oid in (select inhrelid from pg_inherits where inhparent = to_regclass($1)))
					and (coalesce(a.attstattarget, -1) = 0) <> (a.attname = any ($2))`, table, columns).Scan(&differ))
			require.Empty(t, differ)
		}
	}
	check()
	_, err := st.Contract(t.Context(), shown)
	require.NoError(t, err)
	_, err = st.Partition(t.Context(), time.Now(), shown)
	require.NoError(t, err)
	check()
}
