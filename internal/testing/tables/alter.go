package tables

import (
	"fmt"
	"strings"
)

// alterations change a column, by its type, or by its name if constraints permit few values. Those that place the row cannot be changed
// without breaking a foreign key; what copies a row to another place is another test.
var alterations = map[string]string{
	"text": "coalesce(%[1]s, '') || 'x'", "integer": "coalesce(%[1]s, 300) + 1", "bigint": "coalesce(%[1]s, 0) + 1", "numeric": "%[1]s + 1", "boolean": "not %[1]s", "bytea": "coalesce(%[1]s, ''::bytea) || '\\x01'",
	"timestamp with time zone": "(coalesce(%[1]s, '2100-01-01Z') at time zone 'utc' + interval '1 microsecond') at time zone 'utc'", "ARRAY": "array_append(%[1]s, 'x')", "jsonb": `'{"x": 1}'`,

	"kind": "'live'", "mode": "'shadow'", "risk_class": "'low'", "background": "'own'", "scope": "'admin'", "role": "'operator'",
	"lists.kind": "'country'", "lists.personal": "true, secret = '\\x01', kind = 'text'", // a constraint binds the three
	"move": "'complete'", "attestation": "'required'", "status": "'next'", "resolution": "'reject'", "starts_at": "(%[1]s at time zone 'utc' - interval '1 microsecond') at time zone 'utc'",

	"policy_versions.status": "'draft'", "after_reviews.status": "'justified'", "standing_approvals.status": "'ended'", "source": "'review'", "verdict": "'not_justified'",
	"recoveries.status": "'expired'", "anchor": "'idp'", "device_class": "'mobile'", "webhook_endpoints.status": "'disabled'", "subjects.status": "'revoked'", "sessions.status": "'ended'",
	"changes.status": "'rejected'", "changes.kind": "'team.create'", "decision": "'deny'", "json": `'{"x": 1}'`, "parent_id": "",

	"id": "", "uid": "", "tenant_id": "", "environment_id": "", "credential_id": "", "action_id": "", "subject_uid": "", "person_id": "", "identity_provider_id": "",
	"team_id": "", "group_id": "", "user_id": "", "deputy_id": "", "authorization_id": "", "list_id": "",
}

// Alteration returns an SQL expression for another value of a column of a type; empty if the test of alterations cannot change it.
func Alteration(table, column, kind string) string {
	expression, named := alterations[table+"."+column]
	if !named {
		expression, named = alterations[column]
	}
	if !named {
		expression = alterations[kind]
	}
	if strings.Contains(expression, "%") {
		return fmt.Sprintf(expression, column)
	}
	return expression
}
