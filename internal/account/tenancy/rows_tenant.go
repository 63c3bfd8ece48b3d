package tenancy

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// deleteTenant deletes every row of a tenant and its environments, and returns the number of rows.
func deleteTenant(ctx context.Context, q *pg.Q, id string, environments []models.Environment) (int64, error) {
	tables, err := tablesByDependence(ctx, q)
	if err != nil {
		return 0, err
	}
	var deleted int64
	remove := func(table, of, id string) error {
		n, err := q.Exec(ctx, "delete from "+table+" where "+of, id)
		deleted += n
		return err
	}
	for _, t := range tables {
		if t.of != inEnvironments {
			if err := remove(t.name, t.of, id); err != nil {
				return 0, err
			}
			continue
		}
		// After a statement about several environments, a distributed server refuses to delete what their rows refer to.
		for _, e := range environments {
			if err := remove(t.name, "environment_id = $1", e.ID); err != nil {
				return 0, err
			}
		}
	}
	return deleted, nil
}

// copyTenant copies every row of a tenant and its environments from another database and returns the number of rows.
func copyTenant(ctx context.Context, from, to *pg.Q, id string) (int64, error) {
	tables, err := tablesByDependence(ctx, to)
	if err != nil {
		return 0, err
	}
	var literal string // a copy takes no arguments
	if err := from.QueryRow(ctx, "select quote_literal($1)", id).Scan(&literal); err != nil {
		return 0, err
	}
	slices.Reverse(tables)
	var copied int64
	for _, t := range tables {
		n, err := to.Copy(ctx, from, "select "+t.columns+" from "+t.name+" where "+strings.ReplaceAll(t.of, "$1", literal), t.name+" ("+t.columns+")")
		if err != nil {
			return 0, err
		}
		copied += n
	}
	return copied, nil
}

// inEnvironments is the condition of the rows of the environments of the tenant $1.
const inEnvironments = "environment_id in (select id from environments where tenant_id = $1)"

// tenantTable is a table with rows of tenants.
type tenantTable struct {
	name    string
	of      string // the condition of the rows of the tenant $1
	columns string // those that are stored
}

// tablesByDependence returns the tables that have rows of tenants, each after those that refer to it. They come from the database's catalogue, so
// that a new table cannot be forgotten. Their rows name the environment, the tenant, or a row of such a table.
func tablesByDependence(ctx context.Context, q *pg.Q) ([]tenantTable, error) {
	rows, err := q.Query(ctx, `with recursive t as (
			select c.oid, quote_ident(c.relname) as name,
				exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped) as tenant,
				exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'environment_id' and not a.attisdropped) as environment,
				(select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
					where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
			from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition),
		depth as (
			select oid, 0 as n from t
			union select f.confrelid, d.n + 1 from depth d join pg_constraint f on f.conrelid = d.oid and f.contype = 'f' and f.confrelid <> d.oid),
		owned as (
			select oid, name, columns, case when name = 'tenants' then 'id = $1' when environment then '`+inEnvironments+`'
				when tenant then 'tenant_id = $1' end as condition from t),
		within as (
			select o.oid, o.name, o.columns, coalesce(o.condition, min(quote_ident(a.attname) || ' in (select ' || quote_ident(k.attname) || ' from ' || p.name || ' where ' || p.condition || ')')) as condition
			from owned o left join pg_constraint f on f.conrelid = o.oid and f.contype = 'f' and cardinality(f.conkey) = 1 and f.confdeltype = 'c'
			left join owned p on p.oid = f.confrelid
			left join pg_attribute a on a.attrelid = f.conrelid and a.attnum = f.conkey[1] left join pg_attribute k on k.attrelid = f.confrelid and k.attnum = f.confkey[1]
			group by o.oid, o.name, o.columns, o.condition)
		select w.name, w.condition, w.columns from within w join depth using (oid) where w.condition is not null
		group by w.name, w.condition, w.columns order by max(depth.n), w.name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (tenantTable, error) {
		var t tenantTable
		err := row.Scan(&t.name, &t.of, &t.columns)
		return t, err
	})
}
