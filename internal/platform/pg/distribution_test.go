package pg_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// pairs are the rows of a query of two columns of text.
const publicTables = `select relname, '' from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`

// Every table is in one of the lists of package models, so that a new one is placed when it is made.
func TestEveryTableIsPlaced(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	tables := map[string]bool{}
	for _, row := range storetest.Pairs(t, st, publicTables) {
		tables[row[0]] = true
		require.NotEmpty(t, models.PlacementOf(row[0]), "add %s to models.DistributedTables if it grows with the use of the service, otherwise to models.ReferenceTables", row[0])
	}
	listed := map[string]int{}
	for _, list := range [][]string{models.DistributedTables, models.ReferenceTables} {
		for _, table := range list {
			listed[table]++
		}
	}
	for table, reason := range models.LocalTables {
		require.NotEmpty(t, reason, table)
		listed[table]++
	}
	for table, n := range listed {
		require.True(t, tables[table], "%s is listed and does not exist", table)
		require.Equal(t, 1, n, "%s is listed twice", table)
	}
}

// A distributed server enforces a key on each shard by itself: what is unique, or refers to a row, contains the environment.
func TestEveryKeyOfADistributedTableContainsTheEnvironment(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	cases := map[string]string{
		"environment_id is a column and not null": `select t, '' from unnest($1::text[]) t where not exists (select from information_schema.columns
			where table_schema = 'public' and table_name = t and column_name = 'environment_id' and is_nullable = 'NO')`,
		"there is a primary key": `select t, '' from unnest($1::text[]) t where not exists (select from pg_constraint k where k.conrelid = t::regclass and k.contype = 'p')`,
		"unique indexes": `select x.indrelid::regclass::text, x.indexrelid::regclass::text from pg_index x where x.indisunique
			and x.indrelid = any(array(select t::regclass from unnest($1::text[]) t)) and not exists
			(select from pg_attribute a where a.attrelid = x.indrelid and a.attnum = any(x.indkey) and a.attname = 'environment_id')`,
		"indexes are valid": `select x.indrelid::regclass::text, x.indexrelid::regclass::text from pg_index x where not x.indisvalid and $1::text[] is not null`,
		"foreign keys between distributed tables": `select k.conrelid::regclass::text, k.conname from pg_constraint k where k.contype = 'f'
			and k.conrelid = any(array(select t::regclass from unnest($1::text[]) t)) and k.confrelid = any(array(select t::regclass from unnest($1::text[]) t))
			and not (k.convalidated and exists (select from unnest(k.conkey, k.confkey) c (own, other)
				join pg_attribute a on a.attrelid = k.conrelid and a.attnum = c.own and a.attname = 'environment_id'
				join pg_attribute b on b.attrelid = k.confrelid and b.attnum = c.other and b.attname = 'environment_id'))`,
	}
	for name, query := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, storetest.Pairs(t, st, query, models.DistributedTables))
		})
	}
}

// A copy of a table, and a table of the coordinator, cannot refer to rows that are on the server of an environment.
func TestOnlyDistributedTablesReferToDistributedTables(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	for _, key := range storetest.Pairs(t, st, `select conrelid::regclass::text, confrelid::regclass::text from pg_constraint
		where contype = 'f' and connamespace = 'public'::regnamespace`) {
		from, to := models.PlacementOf(key[0]), models.PlacementOf(key[1])
		require.True(t, to == models.PlacedEverywhere && from != models.PlacedOnCoordinator || from == models.PlacedByEnvironment && to == from,
			"%s (%s) refers to %s (%s)", key[0], from, key[1], to)
	}
}

// Tables are listed after those that they refer to: in this order they can be distributed.
func TestTablesAreListedAfterThoseThatTheyReferTo(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	place := map[string]int{}
	for i, table := range append(append([]string{}, models.ReferenceTables...), models.DistributedTables...) {
		place[table] = i
	}
	for _, key := range storetest.Pairs(t, st, `select conrelid::regclass::text, confrelid::regclass::text from pg_constraint
		where contype = 'f' and connamespace = 'public'::regnamespace`) {
		require.Less(t, place[key[1]], place[key[0]], "%s refers to %s", key[0], key[1])
	}
}

func TestNoTriggersAndNoUnlistedNumbers(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	require.Empty(t, storetest.Pairs(t, st, "select tgrelid::regclass::text, tgname from pg_trigger where not tgisinternal"))
	require.Empty(t, storetest.Pairs(t, st, "select proname, '' from pg_proc where pronamespace = 'public'::regnamespace"))
	numbered := map[string]bool{}
	for _, column := range storetest.Pairs(t, st, `select c.table_name || '.' || c.column_name, c.table_name from information_schema.columns c
		where c.table_schema = 'public' and (c.is_identity = 'YES' or c.column_default like '%nextval%' or c.column_default like '%xact%')`) {
		if models.PlacementOf(column[1]) != models.PlacedOnCoordinator {
			numbered[column[0]] = true
			require.NotEmpty(t, models.NumberedByServer[column[0]], "%s is numbered by one server", column[0])
		}
	}
	require.Len(t, numbered, len(models.NumberedByServer), "models.NumberedByServer lists a column that is not numbered")
}
