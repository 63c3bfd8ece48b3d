package store

import (
	"context"
	"strconv"
	"strings"
)

// Found is a record that a search of the console found.
type Found struct {
	ID    string
	Label string // a name, a key, a type or a status
	// Target is the record on whose page it is shown: an authorization, the relying party's id of a subject, or an action.
	Target string
	Number int64 // version of a policy, or number of an entry of the audit log
}

// Find searches the records of an environment by index.
type Find struct{ *Q }

// Find returns the queries of the search.
func (q *Q) Find() Find { return Find{q} }

// findable are the records that are found by id, by the prefix of their ids. $1 is the tenant, $2 the environment; @ids stands for
// the condition on the column that follows it.
var findable = map[string]string{
	"azn": `select id, action_key as label, id as target, 0 as number from authorizations where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"chl": `select id, status as label, authorization_id as target, 0 as number from challenges where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"prf": `select jti as id, status as label, authorization_id as target, 0 as number from proofs where tenant_id = $1 and environment_id = $2 and @ids(jti)`,
	"ses": `select r.id, r.device_class as label, s.external_id as target, 0 as number from sessions r join subjects s on s.uid = r.subject_uid
		and s.environment_id = r.environment_id where r.tenant_id = $1 and r.environment_id = $2 and @ids(r.id)`,
	"enr": `select r.id, r.status as label, s.external_id as target, 0 as number from enrollments r join subjects s on s.uid = r.subject_uid
		and s.environment_id = r.environment_id where r.tenant_id = $1 and r.environment_id = $2 and @ids(r.id)`,
	"evt": `select e.id, e.type as label, coalesce(e.authorization_id, '') as target, c.seq as number from events e join audit_chain c on c.event_id = e.id
		and c.environment_id = e.environment_id where e.tenant_id = $1 and e.environment_id = $2 and @ids(e.id)`,
	"act": `select id, key as label, id as target, 0 as number from actions where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"pol": `select p.id, a.key as label, p.action_id as target, p.version as number from policy_versions p join actions a on a.id = p.action_id
		and a.environment_id = p.environment_id where p.tenant_id = $1 and p.environment_id = $2 and @ids(p.id)`,
	"whe": `select id, url as label, id as target, 0 as number from webhook_endpoints where tenant_id = $1 and environment_id = $2 and deleted_at is null and @ids(id)`,
	"crd": `select id, case when name = '' then preview else name end as label, id as target, 0 as number from credentials
		where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"evl": `select id, name as label, id as target, 0 as number from evaluations where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"chg": `select id, kind as label, id as target, 0 as number from changes where tenant_id = $1 and environment_id = $2 and @ids(id)`,
	"prs": `select p.id, p.name as label, p.id as target, 0 as number from people p where p.tenant_id = $1
		and exists (select from person_roles r where r.person_id = p.id and r.environment_id = $2) and @ids(p.id)`,
}

// idDigits is the number of digits of an id behind its prefix.
const idDigits = 26

// ByID returns at most limit records of a kind whose ids begin with prefix, which includes the kind: azn_01jqx3k5v8. The scan of
// the primary key reads the ids of every environment in the range: the caller bounds it by the length of the prefix. The range is
// that of complete ids, so that it is the same in every collation.
func (q Find) ByID(ctx context.Context, s Scope, kind, prefix string, limit int) ([]Found, error) {
	query, ok := findable[kind]
	if !ok {
		return nil, nil
	}
	return q.found(ctx, FindByID(query), limit, s.Tenant, s.Environment, padded(prefix, "0"), padded(prefix, "z"), prefix)
}

// FindByID completes the query of a kind, for the test of its plan.
func FindByID(query string) string {
	from, column, _ := strings.Cut(query, "@ids(")
	column = strings.TrimSuffix(column, ")")
	return from + column + " between $3 and $4 and starts_with(" + column + ", $5) order by 1 desc"
}

// FindableQueries returns the queries by id, by kind, for the test of their plans.
func FindableQueries() map[string]string { return findable }

func padded(prefix, digit string) string {
	kind, digits, _ := strings.Cut(prefix, "_")
	return kind + "_" + digits + strings.Repeat(digit, max(0, idDigits-len(digits)))
}

// FindSubjects is the query of Subjects, for the test of its plan.
const FindSubjects = `select uid as id, external_id as label, external_id as target, 0 as number from subjects
	where tenant_id = $1 and environment_id = $2 and external_id ~>=~ $3 and external_id ~<~ $4 order by external_id using ~<~`

// Subjects returns at most limit subjects whose id at the relying party begins with prefix.
func (q Find) Subjects(ctx context.Context, s Scope, prefix string, limit int) ([]Found, error) {
	// U+10FFFF is behind every text with the prefix: text_pattern_ops compares bytes.
	return q.found(ctx, FindSubjects, limit, s.Tenant, s.Environment, prefix, prefix+"\U0010FFFF")
}

// Actions returns at most limit actions whose key or name contains the text. An environment has few actions.
func (q Find) Actions(ctx context.Context, s Scope, text string, limit int) ([]Found, error) {
	return q.found(ctx, `select id, key as label, id as target, 0 as number from actions where tenant_id = $1 and environment_id = $2
		and (key ilike $3 or name ilike $3) order by archived_at is not null, key`, limit, s.Tenant, s.Environment, containing(text))
}

// People returns at most limit people with a role in the environment whose name contains the text.
func (q Find) People(ctx context.Context, s Scope, text string, limit int) ([]Found, error) {
	return q.found(ctx, `select p.id, p.name as label, p.id as target, 0 as number from people p where p.tenant_id = $1 and p.name ilike $3
		and exists (select from person_roles r where r.person_id = p.id and r.environment_id = $2) order by p.name, p.id`,
		limit, s.Tenant, s.Environment, containing(text))
}

// Entry returns the entry of the audit log with a number; none if there is none.
func (q Find) Entry(ctx context.Context, s Scope, number int64) ([]Found, error) {
	return q.found(ctx, `select e.id, e.type as label, coalesce(e.authorization_id, '') as target, c.seq as number from audit_chain c
		join events e on e.id = c.event_id and e.environment_id = c.environment_id
		where e.tenant_id = $1 and c.environment_id = $2 and c.seq = $3`, 1, s.Tenant, s.Environment, number)
}

func (q Find) found(ctx context.Context, query string, limit int, args ...any) ([]Found, error) {
	rows, err := q.query(ctx, query+" limit "+strconv.Itoa(limit), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Found
	for rows.Next() {
		var f Found
		if err := rows.Scan(&f.ID, &f.Label, &f.Target, &f.Number); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

// containing returns the LIKE pattern of texts that contain the text.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}

// AuditFrom returns the cursor of the page of Audit.Numbered that begins with an entry.
func AuditFrom(number int64) string { return NextCursor(auditPosition(number+1), numbered) }
