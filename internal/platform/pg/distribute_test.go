package pg_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
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
		$$ select place(t, 'distributed', format('create_distributed_table(%L, %L, colocate_with => %L)', t, column_name, colocate_with)) $$;`

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
	golden, err := os.ReadFile("testdata/distribute.sql")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(golden)), strings.Join(calls, "\n"))

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
}

func TestDistributeRefusesAServerWithoutTheExtension(t *testing.T) {
	t.Parallel()
	_, err := storetest.New(t).Distribute(t.Context(), func(int, int) {})
	require.ErrorIs(t, err, pg.ErrNotDistributable)
}
