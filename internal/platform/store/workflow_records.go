package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// workflowRecords are the queries of the records that workflows are about, by the kind of the workflow. $1 are ids, $2 and $3 the
// tenants and environments of the scopes that may be looked in.
var workflowRecords = map[string]string{
	"challenge":  recordIn("challenges"),
	"hold":       recordIn("authorizations"),
	"change":     recordIn("changes"),
	"evaluation": recordIn("evaluations"),
	"enrollment": recordIn("enrollments"),
	"recovery":   recordIn("recoveries"),
	"erasure":    recordIn("erasures"),
	"adaptation": recordIn("sessions"),
	"endpoint":   recordIn("webhook_endpoints"),
}

func recordIn(table string) string {
	return "select id, tenant_id, environment_id from " + table + // #nosec G202 -- of the table above
		" where id = any($1) and environment_id = any($3) and (tenant_id, environment_id) in (select * from unnest($2::text[], $3::text[]))"
}

// Workflows finds the environments of workflows.
type Workflows struct{ *Q }

// Workflows returns the queries of the aggregate.
func (q *Q) Workflows() Workflows { return Workflows{q} }

// Kind reports whether workflows of the kind are about records of an environment.
func (Workflows) Kind(kind string) bool { return workflowRecords[kind] != "" }

// Scopes returns the scopes of the records with these ids that are in one of the given scopes, by id.
func (q Workflows) Scopes(ctx context.Context, kind string, ids []string, within []Scope) (map[string]Scope, error) {
	tenants, environments := make([]string, len(within)), make([]string, len(within))
	for i, s := range within {
		tenants[i], environments[i] = s.Tenant, s.Environment
	}
	out := map[string]Scope{}
	rows, err := q.query(ctx, workflowRecords[kind], ids, tenants, environments)
	if err != nil {
		return nil, err
	}
	var id string
	var s Scope
	_, err = pgx.ForEachRow(rows, []any{&id, &s.Tenant, &s.Environment}, func() error {
		out[id] = s
		return nil
	})
	return out, err
}
