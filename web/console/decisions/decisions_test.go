package decisions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestLinksDependOnTemporalUIAndRights(t *testing.T) {
	t.Parallel()
	v := &shell.Visit{Grant: staff.Grant{Environment: models.Environment{ID: "env_1"}, Roles: []models.Role{models.RoleAuditor}}}
	held := func() *CaseView {
		view := &CaseView{}
		view.Case.Trace = authorization.Trace{ID: "azn_1", Subject: "user-4711", Challenge: &authorization.ChallengeTrace{ID: "chl_1"}}
		view.Case.Hold, view.Case.ActionID = &models.Hold{}, "act_1"
		return view
	}
	c := &Pages{Shell: &shell.Shell{Clock: clock.NewFake(noon)}, TemporalUI: "http://localhost:8233/namespaces/countersign"}
	view := held()
	c.links(v, view)
	require.Equal(t, []link{
		{"Workflow run of the challenge", "http://localhost:8233/namespaces/countersign/workflows/challenge%2Fchl_1"},
		{"Workflow run of the hold", "http://localhost:8233/namespaces/countersign/workflows/hold%2Fazn_1"},
	}, view.Workflows)
	require.Equal(t, "/console/env_1/subjects/user-4711", view.SubjectURL)
	require.Equal(t, "/console/env_1/policies/act_1/0", view.PolicyURL)

	c.TemporalUI, v.Grant.Roles = "", []models.Role{models.RoleReviewer}
	view = held()
	c.links(v, view)
	require.Empty(t, view.Workflows)
	require.Empty(t, view.PolicyURL, "a reviewer has no right to see policies")
}
