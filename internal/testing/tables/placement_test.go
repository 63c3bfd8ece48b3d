package tables_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
)

// Each table and each column of the schema is declared, with what it refers to.
func TestEveryTableAndColumnIsDeclared(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	columns, keys, refers := map[string][]string{}, map[string][]string{}, map[string][]string{}
	for _, c := range storetest.Pairs(t, st, `select table_name::text, column_name::text from information_schema.columns where table_schema = 'public'`) {
		columns[c[0]] = append(columns[c[0]], c[1])
	}
	for _, c := range storetest.Pairs(t, st, `select conrelid::regclass::text, a.attname from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any(k.conkey)
		where k.contype = 'p' and k.connamespace = 'public'::regnamespace`) {
		keys[c[0]] = append(keys[c[0]], c[1])
	}
	for _, c := range storetest.Pairs(t, st, `select distinct conrelid::regclass::text, confrelid::regclass::text from pg_constraint
		where contype = 'f' and connamespace = 'public'::regnamespace and conrelid <> confrelid`) {
		refers[c[0]] = append(refers[c[0]], c[1])
	}
	for _, table := range pg.Tables() {
		t.Run(table.Name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, columns[table.Name], "it is declared and does not exist")
			require.ElementsMatch(t, refers[table.Name], table.Refers)
			key := table.Key
			if table.Placed == pg.ByEnvironment && !slices.Contains(key, "environment_id") {
				key = append(slices.Clone(key), "environment_id")
			}
			require.ElementsMatch(t, keys[table.Name], key)
			require.Equal(t, table.Placed == pg.OnCoordinator, table.Why != "", "Why is the reason to be on the coordinator alone")
			require.Equal(t, table.Attested(), slices.Contains(columns[table.Name], "row_mac"), "a table has a MAC if it has Of")
			declared := slices.Concat(table.Fixed, table.Moves, table.Added, table.Logged)
			for column, reason := range table.Free {
				require.NotEmpty(t, reason, column)
				if column != "*" {
					declared = append(declared, column)
				}
			}
			if table.Attested() {
				declared = append(declared, "row_mac")
				require.Subset(t, slices.Concat(table.Fixed, table.Moves), table.Signed())
			}
			if table.Free["*"] != "" {
				require.Subset(t, columns[table.Name], declared)
				return
			}
			require.ElementsMatch(t, columns[table.Name], declared, "declare each column as Fixed, Moves, Added, Logged or Free")
		})
	}
	for name := range columns {
		require.NotNil(t, pg.TableOf(name), "declare the table %s with pg.Declare in the rows_tables.go of the package of its record, and link that in this package", name)
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
			require.Empty(t, storetest.Pairs(t, st, query, pg.TablesPlaced(pg.ByEnvironment)))
		})
	}
}

// A copy of a table, and a table of the coordinator, cannot refer to rows that are on the server of an environment.
func TestOnlyDistributedTablesReferToDistributedTables(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	for _, key := range storetest.Pairs(t, st, `select conrelid::regclass::text, confrelid::regclass::text from pg_constraint
		where contype = 'f' and connamespace = 'public'::regnamespace`) {
		from, to := pg.TableOf(key[0]).Placed, pg.TableOf(key[1]).Placed
		require.True(t, to == pg.Everywhere && from != pg.OnCoordinator || from == pg.ByEnvironment && to == from,
			"%s (%s) refers to %s (%s)", key[0], from, key[1], to)
	}
}

// Tables are listed after those that they refer to: in this order they can be distributed.
func TestTablesAreListedAfterThoseThatTheyReferTo(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	place := map[string]int{}
	for i, table := range slices.Concat(pg.TablesPlaced(pg.Everywhere), pg.TablesPlaced(pg.ByEnvironment)) {
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
	require.Equal(t, []string{"guard"}, storetest.Texts(t, st, "select proname::text from pg_proc where pronamespace = 'public'::regnamespace"),
		"Distribute places this function, and no other")
	numbered := map[string]bool{}
	for _, column := range storetest.Pairs(t, st, `select c.table_name || '.' || c.column_name, c.table_name from information_schema.columns c
		where c.table_schema = 'public' and (c.is_identity = 'YES' or c.column_default like '%nextval%' or c.column_default like '%xact%')`) {
		numbered[column[0]] = pg.TableOf(column[1]).Placed != pg.OnCoordinator
	}
	for _, table := range pg.Tables() {
		for column, reason := range table.Numbered {
			require.NotEmpty(t, reason)
			require.True(t, numbered[table.Name+"."+column], "%s.%s is not numbered", table.Name, column)
			delete(numbered, table.Name+"."+column)
		}
	}
	for column, placed := range numbered {
		require.False(t, placed, "%s is numbered by one server: say in Numbered what relies on it", column)
	}
}
