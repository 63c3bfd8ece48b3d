package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/models"
)

// colleague creates a reviewer of the console and returns their id.
func (w world) colleague(t *testing.T) string {
	t.Helper()
	in, err := shared.People.Create(t.Context(), w.scope(), staff.Invitee{Name: "Staff Member", Roles: []models.Role{models.RoleReviewer}}, "cli:test")
	require.NoError(t, err)
	return in.Person.ID
}

// A request names who approves it: by a property of its context, and by who manages the person who requests it.
func TestApproversThatARequestNames(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	cat := w.reviewer(t)
	w.team(t, "board", cat)
	owner, requester, manager := w.colleague(t), w.colleague(t), w.colleague(t)
	entry := func(approver string) object { return object{"approver": approver, "fallback": "board"} }
	review := object{"steps": []any{
		object{"name": "manager", "entries": []any{entry("manager_of_requester")}},
		object{"name": "owner", "entries": []any{entry("context.owner")}},
	}}
	id, action := w.action(t, "enforce", holding)
	versions := "/api/v1/actions/" + id + "/policy-versions"
	made := object{"requirements": with(holding, object{"review": review})}
	w.Server.post(t, versions, made).is(422)
	made["context_schema"] = object{"type": "object", "properties": object{
		"owner": object{"type": "string", "x-countersign-approver": true}, "by": object{"type": "string", "x-countersign-requester": true},
	}}
	w.Server.post(t, versions, made).is(201)
	w.Server.post(t, versions+"/2/activate", nil).is(200)
	set := w.Admin.do(t, "PUT", "/api/v1/people/"+requester+"/manager", object{"manager": manager}).is(200)
	require.Equal(t, manager, set.string("manager"))
	w.Admin.do(t, "PUT", "/api/v1/people/"+manager+"/manager", object{"manager": requester}).is(422)
	w.Admin.do(t, "PUT", "/api/v1/people/prs_unknown/manager", object{"manager": nil}).problem(404, "not_found")

	approver := func(context object) object {
		t.Helper()
		w.Server.post(t, "/api/v1/authorize", with(request(w.subject(t), action), object{"context": context})).is(200)
		row := cat.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]
		return row["teams"].([]any)[0].(object)["approver"].(object)
	}
	require.Equal(t, object{"named_by": "manager_of_requester", "person": manager, "reason": nil}, approver(object{"by": requester, "owner": owner}))
	require.Equal(t, object{"named_by": "manager_of_requester", "person": nil, "reason": "requester_unknown"}, approver(object{"owner": owner}))

	held := cat.get(t, "/api/v1/reviews?action="+action).is(200).list()[0]["authorization"].(string)
	path := "/api/v1/authorizations/" + held + "/review"
	pending := cat.post(t, path, object{"resolution": "approve"}).is(202)
	require.Equal(t, owner, pending.value("teams").([]any)[0].(object)["approver"].(object)["person"])
	cat.post(t, path, object{"resolution": "approve", "step": "owner"}).problem(403, "forbidden")
	w.intact(t)

	w.Admin.do(t, "PATCH", "/api/v1/environment", object{"second_approver_required": true}).is(200)
	change := w.Admin.do(t, "PUT", "/api/v1/people/"+requester+"/manager", object{"manager": owner}).is(202)
	require.Equal(t, "person.manager", change.string("kind"))
	second := caller{base: w.Server.base, key: w.issue(t, models.ScopeAdmin, nil)}
	second.post(t, "/api/v1/changes/"+change.string("id")+"/approve", nil).is(200)
	require.Equal(t, 1, count(t, "select count(*) from person_positions where person_id = $1 and manager_id = $2", requester, owner))
}
