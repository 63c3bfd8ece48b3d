package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/models"
)

// The page of a hold and its row say which teams' approvals are wanted, who gave which, and whether the reader may approve.
func TestConsoleSaysWhoseApprovalsAreWanted(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	ann, deb, out := w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer), w.signedIn(t, models.RoleReviewer)
	cat := w.reviewer(t)
	create := func(key, name string, members ...any) {
		w.Admin.post(t, "/api/v1/teams", object{"key": key, "name": name, "members": append([]any{}, members...)}).is(201)
	}
	create("finance", "Finance", "person:"+ann.person)
	create("leads", "Leads of Finance")
	create("risk", "Risk & fraud", actors(t, cat)...)
	entries := []any{
		object{"group": "finance", "approvals": 1, "escalate": object{"after_seconds": 3600, "group": "leads"}}, object{"group": "risk", "approvals": 1},
	}
	_, action := w.action(t, "enforce", with(holding, object{"review": entries}))
	held := w.authorize(t, w.subject(t), action, "hold").string("id")
	page := "/console/" + w.ID + "/reviews/" + held
	has := func(v *visitor, texts ...string) {
		t.Helper()
		body := v.get(page).body
		for _, text := range texts {
			require.Contains(t, body, text)
		}
	}
	has(ann, "You can approve for Finance.", "<bdi>Leads of Finance</bdi> may approve as well", "0 of 1", "Risk &amp; fraud")
	has(out, "Only members of these teams")
	_, err := shared.Teams.NameDeputy(t.Context(), w.scope(), team.By{Actor: "person:" + ann.person},
		team.Absence{Person: ann.person, Deputy: deb.person, StartsAt: shared.Clock.Now(), EndsAt: shared.Clock.Now().AddDate(0, 0, 7)})
	require.NoError(t, err)
	has(deb, "You can approve for Finance, as the deputy of Staff Member.")
	queue := "/console/" + w.ID + "/reviews"
	require.Contains(t, ann.get(queue).body, "Finance 0 of 1")
	require.NotContains(t, ann.get(queue).body, "not for you")
	require.NotContains(t, out.get(queue).body, held, "the hold does not need one who is in none of its teams")
	require.Contains(t, deb.get(queue).body, held, "it needs the deputy of an absent member")
	require.Contains(t, out.get(queue+"?status=pending").body, "not for you")

	require.Contains(t, ann.review(w, held, "approve"), "Approved: 1 of 2 approvals.")
	has(ann, "You approved this hold.", "1 of 1")
	require.NotContains(t, ann.get(queue).body, held, "the hold waits for others")
	require.Contains(t, ann.get(queue+"?status=pending").body, held)
	cat.post(t, "/api/v1/authorizations/"+held+"/review", object{"resolution": "approve"}).is(200)
	has(out, "approved", "1 of 1")
	require.NotContains(t, out.get(page).body, "Only members of these teams", "the hold is settled")
}
