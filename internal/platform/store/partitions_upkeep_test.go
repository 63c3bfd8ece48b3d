package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// divided is a store whose tables are divided, with partitions ahead.
func divided(t *testing.T) *store.Store {
	t.Helper()
	st := newPartWorld(t)
	_, err := st.Partition(t.Context(), partNow, shown)
	require.NoError(t, err)
	_, err = st.ExtendPartitions(t.Context(), partNow)
	require.NoError(t, err)
	return st
}

// bounds are the ranges of the partitions of frames.
func bounds(t *testing.T, st *store.Store) [][2]string {
	t.Helper()
	return pairs(t, st, `select relname::text, pg_get_expr(relpartbound, oid) from pg_class where relispartition and relkind = 'r' and starts_with(relname, 'frames_') order by 1`)
}

func between(from, to string) string {
	literal := func(day string) string {
		if at, err := time.Parse("20060102", day); err == nil {
			return "'" + ids.Lowest("ses", at) + "'"
		}
		return day
	}
	return fmt.Sprintf("FOR VALUES FROM (%s) TO (%s)", literal(from), literal(to))
}

func TestExtendPartitionsMakesThoseAhead(t *testing.T) {
	t.Parallel()
	st := newPartWorld(t)
	ctx := t.Context()
	made, err := st.ExtendPartitions(ctx, partNow)
	require.NoError(t, err)
	require.Zero(t, made, "no table is divided")
	_, err = st.Partition(ctx, partNow, shown)
	require.NoError(t, err)
	before := definitions(t, st)

	made, err = st.ExtendPartitions(ctx, partNow)
	require.NoError(t, err)
	require.Equal(t, len(models.PartitionedTables), made)
	ahead := [][2]string{
		{"frames_00000000", between("MINVALUE", "20261130")},
		{"frames_20261130", between("20261130", "20261207")},
		{"frames_20261207", between("20261207", "MAXVALUE")},
	}
	require.Equal(t, ahead, bounds(t, st))
	made, err = st.ExtendPartitions(ctx, partNow)
	require.NoError(t, err)
	require.Zero(t, made)

	// No worker ran for months: the last partition contains what was written meanwhile, and ends once one runs.
	late := partNow.AddDate(0, 3, 0)
	require.NoError(t, writeAt(ctx, st, late, 1))
	made, err = st.ExtendPartitions(ctx, late)
	require.NoError(t, err)
	require.Equal(t, 2*len(models.PartitionedTables), made)
	require.Equal(t, append(ahead[:2:2], [][2]string{
		{"frames_20261207", between("20261207", "20270301")},
		{"frames_20270301", between("20270301", "20270308")},
		{"frames_20270308", between("20270308", "MAXVALUE")},
	}...), bounds(t, st))
	require.Equal(t, "1", rowsByPart(t, st, "frames")["frames_20261207"])
	require.NoError(t, writeAt(ctx, st, late.AddDate(1, 0, 0), 1), "a clock that is a year ahead stops no request")
	require.Equal(t, before, definitions(t, st))
}

func TestExtendPartitionsRemovesAFenceThatWasLeft(t *testing.T) {
	t.Parallel()
	st := divided(t)
	_, err := st.Pool().Exec(t.Context(), "alter table frames_20261207 add constraint frames_20261207_fence check (session_id < '"+ids.Lowest("ses", partNow.AddDate(0, 1, 0))+"')")
	require.NoError(t, err)
	require.Error(t, writeAt(t.Context(), st, partNow.AddDate(0, 2, 0), 1))
	_, err = st.ExtendPartitions(t.Context(), partNow)
	require.NoError(t, err)
	require.NoError(t, writeAt(t.Context(), st, partNow.AddDate(0, 2, 0), 2))
}

func TestExtendPartitionsRemovesTheFenceOfATableThatWasNotDivided(t *testing.T) {
	t.Parallel()
	st := newPartWorld(t)
	for _, table := range []string{"frames", "authorizations"} {
		key := map[string]string{"frames": "session_id", "authorizations": "id"}[table]
		_, err := st.Pool().Exec(t.Context(), fmt.Sprintf("alter table %s add constraint %s_fence check (%s < '%s') not valid", table, table, key, "a"))
		require.NoError(t, err)
	}
	require.Error(t, writeAt(t.Context(), st, partNow, 1))
	made, err := st.ExtendPartitions(t.Context(), partNow)
	require.NoError(t, err)
	require.Zero(t, made, "upkeep divides no table")
	require.NoError(t, writeAt(t.Context(), st, partNow, 2))
}

// dropFrames drops partitions of frames and returns what was recorded.
func dropFrames(t *testing.T, st *store.Store, before time.Time) (recorded []store.EnvironmentCount) {
	t.Helper()
	rows, err := st.DropPartitions(t.Context(), "frames", before, func(_ *store.Q, gone []store.EnvironmentCount) error {
		recorded = append(recorded, gone...)
		return nil
	})
	require.NoError(t, err)
	for _, g := range recorded {
		rows -= g.Rows
	}
	require.Zero(t, rows)
	return recorded
}

func TestDropPartitionsDropsWhatHasExpired(t *testing.T) {
	t.Parallel()
	st := divided(t)
	ctx := t.Context()
	first, second, third := partNow, partNow.AddDate(0, 0, 7), partNow.AddDate(0, 0, 14)
	for i, at := range []time.Time{first, first, second, third} {
		require.NoError(t, writeAt(ctx, st, at, i))
	}
	_, err := st.ExtendPartitions(ctx, third)
	require.NoError(t, err)
	before := definitions(t, st)

	require.Empty(t, dropFrames(t, st, time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)), "the range of no partition has ended")
	require.Equal(t, []store.EnvironmentCount{{Tenant: "tnt_1", Environment: "env_1", Rows: 2}}, dropFrames(t, st, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)))
	require.Equal(t, map[string]string{"frames_00000000": "0", "frames_20261130": "1", "frames_20261207": "1", "frames_20261214": "0", "frames_20261221": "0"}, rowsByPart(t, st, "frames"))

	// The first partition takes the range of the second: an old id has a place at any time.
	require.Equal(t, []store.EnvironmentCount{{Tenant: "tnt_1", Environment: "env_1", Rows: 1}}, dropFrames(t, st, time.Date(2026, 12, 8, 0, 0, 0, 0, time.UTC)))
	require.Equal(t, [][2]string{
		{"frames_00000000", between("MINVALUE", "20261207")},
		{"frames_20261207", between("20261207", "20261214")},
		{"frames_20261214", between("20261214", "20261221")},
		{"frames_20261221", between("20261221", "MAXVALUE")},
	}, bounds(t, st))
	require.NoError(t, writeAt(ctx, st, second, 9))
	require.Equal(t, before, definitions(t, st))
	require.Equal(t, [][2]string{{"0", ""}}, pairs(t, st, `select count(*)::text, '' from pg_class where relname like '%\_dropped' or relname like '%\_fence'`))
}

// A session of long ago that is still active has frames that have not expired: its partition stays.
func TestDropPartitionsKeepsAPartitionWithARowThatStays(t *testing.T) {
	t.Parallel()
	st := divided(t)
	ctx := t.Context()
	require.NoError(t, writeAt(ctx, st, partNow, 1))
	require.NoError(t, writeAt(ctx, st, partNow, 2))
	_, err := st.Pool().Exec(ctx, "update frames set received_at = $1 where session_id like '%2'", partNow.AddDate(0, 0, 20))
	require.NoError(t, err)
	require.Empty(t, dropFrames(t, st, partNow.AddDate(0, 0, 10)))
	require.Equal(t, "2", rowsByPart(t, st, "frames")["frames_00000000"])

	_, err = st.Pool().Exec(ctx, `insert into holds (authorization_id, tenant_id, environment_id, action_id, subject_uid, risk_class, status, opened_at, remind_at, due_at)
		select authorization_id, 'tnt_1', 'env_1', 'act_1', 'sub_1', 'high', 'pending', now(), now(), now() from shown_details limit 1`)
	require.NoError(t, err)
	for _, status := range []string{"pending", "rejected"} {
		_, err = st.Pool().Exec(ctx, "update holds set status = $1", status)
		require.NoError(t, err)
		rows, err := st.DropPartitions(ctx, "shown_details", partNow.AddDate(0, 2, 0), func(*store.Q, []store.EnvironmentCount) error { return nil })
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"pending": 0, "rejected": 2}[status], rows, status)
	}
}

// A process that ends between the two steps leaves a detached partition, which the next call drops. What is current goes back.
func TestDropPartitionsFinishesWhatWasLeft(t *testing.T) {
	t.Parallel()
	st := divided(t)
	ctx := t.Context()
	require.NoError(t, writeAt(ctx, st, partNow.AddDate(0, 0, 7), 1))
	require.NoError(t, writeAt(ctx, st, partNow.AddDate(0, 0, 7), 2))
	_, err := st.Pool().Exec(ctx, `update frames set received_at = '2027-06-01' where session_id like '%2'; alter table frames detach partition frames_00000000;
		alter table frames detach partition frames_20261130; alter table frames_20261130 rename to frames_20261130_dropped;
		alter table frames attach partition frames_00000000 for values from (minvalue) to ('`+ids.Lowest("ses", time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC))+"')")
	require.NoError(t, err)
	require.Equal(t, []store.EnvironmentCount{{Tenant: "tnt_1", Environment: "env_1", Rows: 1}}, dropFrames(t, st, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.Equal(t, map[string]string{"frames_00000000": "1", "frames_20261207": "0"}, rowsByPart(t, st, "frames"))
}

// A place of a row is unique within a partition only: a deletion by place must not meet the row of another partition.
func TestRowsOfOnePartitionAreDeletedByTheirPlace(t *testing.T) {
	t.Parallel()
	st := divided(t)
	ctx := t.Context()
	require.NoError(t, writeAt(ctx, st, partNow, 1))
	require.NoError(t, writeAt(ctx, st, partNow.AddDate(0, 0, 7), 1))
	gone, err := st.Retention().Expire(ctx, store.ExpiringFrames, partNow.AddDate(0, 0, 1), partNow, 10)
	require.NoError(t, err)
	require.Equal(t, []store.EnvironmentCount{{Tenant: "tnt_1", Environment: "env_1", Rows: 1}}, gone)
	require.Equal(t, map[string]string{"frames_00000000": "0", "frames_20261130": "1", "frames_20261207": "0"}, rowsByPart(t, st, "frames"))

	_, err = st.Pool().Exec(ctx, `insert into subjects (uid, tenant_id, environment_id, external_id, status, enrollment, created_at, updated_at)
		values ('sub_2', 'tnt_1', 'env_1', 'user-2', 'erasing', 'none', now(), now()); update kept_values set subject_uid = 'sub_2' where authorization_id in
		(select max(authorization_id) from kept_values)`)
	require.NoError(t, err)
	removed, _, err := st.Erasures().EraseRows(ctx, "env_1", "sub_2", 10)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"kept_values": 1}, removed)
	require.Equal(t, map[string]string{"kept_values_00000000": "1", "kept_values_20261130": "0", "kept_values_20261207": "0"}, rowsByPart(t, st, "kept_values"))
}
