package integration_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/delivery/configfile"
	"github.com/countersign-dev/countersign/models"
)

// teamFile is a file with a policy that requires a team.
const teamFile = `version: 1
teams:
  finance:
    name: Finance
    members: [key:Desk]
actions:
  payments.release:
    name: Release a payment
    consequence: Money leaves.
    allowed_audiences: [payments-api]
    requirements:
      hold_on: [rule_matched]
      review: [{group: finance, approvals: 1}]
`

func TestConfigurationFileMakesTeamsBeforeThePoliciesThatNameThem(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	f := w.byFile(t)
	_, err := f.plan(t, teamFile, false)
	require.ErrorContains(t, err, `teams.finance.members[0] is "key:Desk": the environment must have exactly one active key of that name`)
	desk, ann := w.named(t, "Desk"), w.signedIn(t, models.RoleReviewer)
	out := f.apply(t, teamFile, false)
	require.Contains(t, out, "teams.finance: created\nactions.payments.release: created")
	require.Empty(t, f.diff(t, teamFile, false))
	team := w.Server.get(t, "/api/v1/teams").is(200).list()[0]
	require.Equal(t, "credential:"+desk, team["members"].([]any)[0].(object)["member"])

	second := `version: 1
teams:
  finance: {members: ["person:` + ann.person + `", key:Desk]}
  risk: {name: Risk, members: ["person:` + ann.person + `"]}
`
	require.Contains(t, f.diff(t, second, false), "+ teams.risk")
	out = f.apply(t, second, false)
	require.Contains(t, out, "teams.finance: changed")
	require.Empty(t, f.diff(t, second, false), "the order of members means nothing")
	w.Admin.patch(t, "/api/v1/teams/"+team["id"].(string), object{"name": "Money"}).is(200)
	require.Empty(t, f.diff(t, second, false), "a name that the file leaves out is not managed by it")

	keep := "version: 1\nteams:\n  finance: {name: Money}\n"
	require.Contains(t, f.diff(t, keep, false), "teams.risk is not in the file and kept")
	require.Contains(t, f.apply(t, keep, true), "teams.risk: removed")
	require.Len(t, w.Server.get(t, "/api/v1/teams").is(200).list(), 1)
}

func TestConfigurationFileRefusesTeamsThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	w.named(t, "Desk")
	f := w.byFile(t)
	f.apply(t, teamFile, false)
	for name, c := range map[string]struct {
		file, want string
		prune      bool
	}{
		"without a name":     {"teams: {risk: {members: []}}", "to create it, the file needs its name", false},
		"of no such member":  {"teams: {risk: {name: Risk, members: [Ann]}}", `"Ann": write person:prs_... or key:NAME`, false},
		"a policy's unknown": {"actions: {payments.release: {requirements: {hold_on: [rule_matched], review: [{group: risk, approvals: 1}]}}}", `names the team "risk"`, false},
		"a policy's removed": {teamFile[len("version: 1\nteams:\n  finance:\n    name: Finance\n    members: [key:Desk]\n"):] + "teams: {}", `names the team "finance"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := f.plan(t, "version: 1\n"+c.file, c.prune)
			require.ErrorContains(t, err, c.want)
		})
	}
	plan, err := f.plan(t, "version: 1\nteams: {}", true)
	require.NoError(t, err)
	var out bytes.Buffer
	require.ErrorContains(t, plan.Apply(t.Context(), &out, &out), "is required by 1 active policies")

	pruned := "version: 1\nteams: {}\nactions: {}\n"
	require.Contains(t, f.apply(t, pruned, true), "actions.payments.release: removed\nteams.finance: removed")
}

// A policy that requires a new team waits with it.
func TestConfigurationFileWaitsForTeamsWithFourEyes(t *testing.T) {
	t.Parallel()
	w, second := fourEyes(t)
	w.named(t, "Desk")
	f := w.byFile(t)
	plan, err := f.plan(t, teamFile, false)
	require.NoError(t, err)
	var out bytes.Buffer
	require.ErrorIs(t, plan.Apply(t.Context(), &out, &out), configfile.ErrWaits)
	require.Contains(t, out.String(), "teams.finance: waits for a second approver: chg_")
	require.Contains(t, out.String(), "actions.payments.release: its policy waits for a team that it requires")
	approve := func() {
		for _, c := range w.Admin.get(t, "/api/v1/changes?status=pending").is(200).list() {
			second.post(t, "/api/v1/changes/"+c["id"].(string)+"/approve", nil).is(200)
		}
	}
	approve()
	plan, err = f.plan(t, teamFile, false)
	require.NoError(t, err)
	require.ErrorIs(t, plan.Apply(t.Context(), &out, &out), configfile.ErrWaits)
	approve()
	require.Empty(t, f.diff(t, teamFile, false))
}
