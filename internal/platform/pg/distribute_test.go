package pg_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	_ "github.com/countersign-dev/countersign/internal/testing/tables"
)

// standIn stands for the extension citus, which no package of the usual distributions has: it records the calls, and refuses a table
// whose foreign keys lead to a table that is not placed, as the extension does. As there, a reference table makes local tables of those that
// refer to it, unless that is off, and a local table cannot be distributed while others refer to it.
const standIn = `create table citus_tables (table_name regclass primary key, citus_table_type text);
	create table calls (n integer generated always as identity, statement text);
	create function place(t regclass, kind text, call text) returns void language plpgsql as $$ begin
		if exists (select from pg_constraint k where k.contype = 'f' and k.conrelid = t and k.confrelid <> t
			and not exists (select from citus_tables p where p.table_name = k.confrelid and p.citus_table_type <> 'local')) then
			raise '% refers to a local table', t;
		end if;
		if current_setting('citus.enable_local_reference_table_foreign_keys', true) is distinct from 'off' then
			insert into citus_tables select distinct k.conrelid, 'local' from pg_constraint k where k.contype = 'f' and k.confrelid = t on conflict do nothing;
			if exists (select from citus_tables where table_name = t and citus_table_type = 'local') then
				raise '% is a local table', t;
			end if;
		end if;
		insert into calls (statement) values (call);
		insert into citus_tables values (t, kind) on conflict (table_name) do update set citus_table_type = kind;
	end $$;
	create function create_reference_table(t regclass) returns void language sql as $$ select place(t, 'reference', format('create_reference_table(%L)', t)) $$;
	create function create_distributed_table(t regclass, column_name text, colocate_with text) returns void language sql as
		$$ select place(t, 'distributed', format('create_distributed_table(%L, %L, colocate_with => %L)', t, column_name, colocate_with)) $$;
	create table functions (name regprocedure primary key);
	create function create_distributed_function(f regprocedure) returns void language sql as 'insert into functions values (f) on conflict do nothing';`

func TestDistributePlacesEveryTableInOrder(t *testing.T) {
	t.Parallel()
	st := storetest.New(t)
	_, err := st.Pool().Exec(t.Context(), standIn)
	require.NoError(t, err)
	var last [2]int
	placed, err := st.Distribute(t.Context(), func(done, total int) { last = [2]int{done, total} })
	require.NoError(t, err)
	require.Equal(t, [2]int{placed, placed}, last)

	var calls []string
	for _, row := range storetest.Pairs(t, st, "select statement, '' from calls order by n") {
		calls = append(calls, row[0])
	}
	require.Len(t, calls, placed)
	require.Equal(t, []string{"guard(boolean)"}, storetest.Texts(t, st, "select name::text from functions"))
	first := slices.IndexFunc(calls, func(call string) bool { return strings.HasPrefix(call, "create_distributed") })
	require.Contains(t, calls[first], "colocate_with => 'none'")
	for _, call := range calls[first+1:] {
		require.True(t, strings.HasPrefix(call, "create_distributed") && !strings.Contains(call, "'none'"), "the rows of all are beside those of the first: %s", call)
	}

	again, err := st.Distribute(t.Context(), func(int, int) {})
	require.NoError(t, err)
	require.Zero(t, again, "every table is placed")
	_, err = st.Pool().Exec(t.Context(), `delete from citus_tables where table_name = 'proofs'::regclass`)
	require.NoError(t, err)
	_, err = st.Pool().Exec(t.Context(), `update citus_tables set citus_table_type = 'local' where table_name = 'holds'::regclass`)
	require.NoError(t, err)
	again, err = st.Distribute(t.Context(), func(int, int) {})
	require.NoError(t, err)
	require.Equal(t, 2, again, "a call that was interrupted continues")
	_, err = st.Pool().Exec(t.Context(), "delete from calls; delete from citus_tables where table_name = '"+pg.TablesPlaced(pg.ByEnvironment)[0]+"'::regclass")
	require.NoError(t, err)
	_, err = st.Distribute(t.Context(), func(int, int) {})
	require.NoError(t, err)
	require.Len(t, storetest.Texts(t, st, "select statement from calls where statement not like '%none%'"), 1, "a table that comes later is placed beside those that are")
}

func TestDistributeRefusesAServerWithoutTheExtension(t *testing.T) {
	t.Parallel()
	_, err := storetest.New(t).Distribute(t.Context(), func(int, int) {})
	require.ErrorIs(t, err, pg.ErrNotDistributable)
}
