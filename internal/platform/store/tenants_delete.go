package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// Lock locks a tenant's row, so that concurrent deletions run one after the other.
func (q Tenants) Lock(ctx context.Context, id string) (models.Tenant, error) {
	var t models.Tenant
	return orNotFound(t, q.gorm(ctx).Raw("select * from tenants where id = ? for update", id).Take(&t).Error)
}

// inUse are the records of a tenant that a caller or a workflow still uses.
var inUse = []struct{ what, query string }{
	{"active API keys", "select count(*) from credentials where tenant_id = $1 and revoked_at is null and (expires_at is null or expires_at > now())"},
	{"open challenges", "select count(*) from challenges where tenant_id = $1 and status = 'open'"},
	{"pending holds", "select count(*) from holds where tenant_id = $1 and status = 'pending'"},
	{"pending enrollments", "select count(*) from enrollments where tenant_id = $1 and status = 'pending'"},
	{"recoveries in progress", "select count(*) from recoveries where tenant_id = $1 and status in ('pending', 'cooling_down', 'ready')"},
	{"erasures in progress", "select count(*) from erasures where tenant_id = $1 and status = 'erasing'"},
	{"pending change requests", "select count(*) from changes where tenant_id = $1 and status = 'pending'"},
	{"webhook endpoints", "select count(*) from webhook_endpoints where tenant_id = $1 and deleted_at is null"},
}

// InUse describes the records that a caller or a workflow still uses, such as "2 pending holds". Deleting them would leave
// workflows that retry without end.
func (q Tenants) InUse(ctx context.Context, id string) ([]string, error) {
	var out []string
	for _, u := range inUse {
		var n int
		if err := q.queryRow(ctx, u.query, id).Scan(&n); err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, u.what))
		}
	}
	return out, nil
}

// Delete deletes every row of a tenant and its environments, and returns the number of rows, not counting those that foreign
// keys delete with them. The tables come from the database's catalogue, so that a new table cannot be forgotten.
func (q Tenants) Delete(ctx context.Context, id string) (int64, error) {
	tables, err := q.tablesByDependence(ctx)
	if err != nil {
		return 0, err
	}
	statements := []string{"delete from idempotency_keys where credential_id in (select id from credentials where tenant_id = $1)"}
	for _, t := range tables {
		name := pgx.Identifier{t.name}.Sanitize()
		switch {
		case t.environment:
			statements = append(statements, "delete from "+name+" where environment_id in (select id from environments where tenant_id = $1)")
		case t.tenant:
			statements = append(statements, "delete from "+name+" where tenant_id = $1")
		}
	}
	var deleted int64
	for _, s := range append(statements, "delete from tenants where id = $1") {
		n, err := q.exec(ctx, s, id)
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	return deleted, nil
}

// tenantTable is a table, and which columns say whose its rows are.
type tenantTable struct {
	name                string
	tenant, environment bool
}

// tablesByDependence returns the tables, each after those that refer to it.
func (q Tenants) tablesByDependence(ctx context.Context) ([]tenantTable, error) {
	rows, err := q.query(ctx, `with recursive t as (
			select c.oid, c.relname::text as name from pg_class c
			where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition),
		depth as (
			select oid, 0 as n from t
			union select f.confrelid, d.n + 1 from depth d join pg_constraint f on f.conrelid = d.oid and f.contype = 'f' and f.confrelid <> d.oid)
		select t.name,
			exists (select from pg_attribute a where a.attrelid = t.oid and a.attname = 'tenant_id' and not a.attisdropped),
			exists (select from pg_attribute a where a.attrelid = t.oid and a.attname = 'environment_id' and not a.attisdropped)
		from t join depth using (oid) group by t.oid, t.name order by max(depth.n), t.name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (tenantTable, error) {
		var t tenantTable
		err := row.Scan(&t.name, &t.tenant, &t.environment)
		return t, err
	})
}
