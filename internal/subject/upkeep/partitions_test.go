package upkeep_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/subject/upkeep"
)

// On a database that is divided by time, what has expired as a whole is dropped with its partition, and recorded as before.
func TestRetentionDropsPartitions(t *testing.T) {
	t.Parallel()
	r := upkeep.DefaultRetention()
	b := keeping(t, r)
	if b.Count("select count(*) from pg_partitioned_table") > 0 {
		t.Skip("COUNTERSIGN_TEST_PARTITIONED divides the database as of today, and the time of this test is fixed")
	}
	require.Zero(t, b.run(t, "partitions", 0), "no table is divided")
	_, err := b.Store.Partition(t.Context(), now, func(int, int) {})
	require.NoError(t, err)
	require.Positive(t, b.run(t, "partitions", 0))
	require.Zero(t, b.run(t, "partitions", time.Hour))

	for _, at := range []time.Time{now, now.Add(time.Minute), now.Add(14 * day)} {
		session := ids.Lowest(ids.Session, at)
		b.session(session, "ended", at)
		b.Exec(`insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at,
			duration_ms, digest) values ($1, 'f', $2, $3, 'score', 'accepted', '{}', $4, $4, 1, '\x00')`, session, b.Scope.Environment, b.Subject.UID, at)
	}
	partition := b.Count("select 'frames_00000000'::regclass::oid::int")
	require.Zero(t, b.run(t, "retention-frames", r.Frames), "not before its retention has passed")
	require.Equal(t, 2, b.run(t, "retention-frames", r.Frames+10*day))
	require.NotEqual(t, partition, b.Count("select 'frames_00000000'::regclass::oid::int"), "its rows were deleted, not the partition")
	require.Equal(t, 1, b.Count("select count(*) from frames"))
	require.Equal(t, 1, b.Events("retention.executed"))
	require.Equal(t, 2, b.Count("select (data->>'removed')::int from events where type = 'retention.executed'"))
	require.Zero(t, b.Count(`select count(*) from pg_class where relname like '%\_dropped'`))
}

// Of two clocks the earlier counts: one that is years ahead makes no partition that lasts for years.
func TestPartitionsAreNotMadeFarAhead(t *testing.T) {
	t.Parallel()
	b := keeping(t, upkeep.DefaultRetention())
	at, err := b.Store.Time(t.Context())
	require.NoError(t, err)
	_, err = b.Store.Partition(t.Context(), at, func(int, int) {})
	require.NoError(t, err)
	b.run(t, "partitions", 36500*day)
	require.Zero(t, b.Count("select count(*) from pg_class where relispartition and relkind = 'r' and relname > 'frames_' || to_char(now() + interval '1 month', 'YYYYMMDD') and starts_with(relname, 'frames_')"))
}
