package histories

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/pg"
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

// kindOfWorkflow reports whether workflows of the kind are about records of an environment.
func kindOfWorkflow(_ *pg.Q, kind string) bool { return workflowRecords[kind] != "" }

// scopesOfWorkflow returns the scopes of the records with these ids that are in one of the given scopes, by id.
func scopesOfWorkflow(ctx context.Context, q *pg.Q, kind string, ids []string, within []pg.Scope) (map[string]pg.Scope, error) {
	tenants, environments := make([]string, len(within)), make([]string, len(within))
	for i, s := range within {
		tenants[i], environments[i] = s.Tenant, s.Environment
	}
	out := map[string]pg.Scope{}
	rows, err := q.Query(ctx, workflowRecords[kind], ids, tenants, environments)
	if err != nil {
		return nil, err
	}
	var id string
	var s pg.Scope
	_, err = pgx.ForEachRow(rows, []any{&id, &s.Tenant, &s.Environment}, func() error {
		out[id] = s
		return nil
	})
	return out, err
}
