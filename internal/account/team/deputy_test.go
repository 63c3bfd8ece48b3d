package team_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
)

var now = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

type bundle struct {
	*fixture.World
	clock   *clock.Fake
	service *team.Service
}

// setup returns a world with the reviewers prs_ann, prs_bob and prs_cat and the auditor prs_eve.
func setup(t *testing.T) *bundle {
	t.Helper()
	st := testenv.Store(t)
	b := &bundle{World: fixture.New(t, st, now), clock: clock.NewFake(now)}
	b.service = team.New(st, b.clock)
	for id, role := range map[string]string{"prs_ann": "reviewer", "prs_bob": "reviewer", "prs_cat": "reviewer", "prs_eve": "auditor"} {
		b.Exec("insert into people (id, tenant_id, name, created_at, created_by) values ($1, $2, $1, $3, 'cli:test')", id, b.Scope.Tenant, now)
		b.Exec("insert into person_roles (person_id, environment_id, role, granted_at, granted_by) values ($1, $2, $3, $4, 'cli:test')",
			id, b.Scope.Environment, role, now)
	}
	return b
}

func (b *bundle) name(t *testing.T, person, deputy string, from, until time.Duration) (string, error) {
	t.Helper()
	row, err := b.service.NameDeputy(t.Context(), b.Scope, team.By{Actor: "person:" + person, RequestID: "req_1"},
		team.Absence{Person: person, Deputy: deputy, StartsAt: now.Add(from), EndsAt: now.Add(until)})
	return row.ID, err
}

const day = 24 * time.Hour

func TestDeputyIsNamedAndWithdrawn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made, err := b.service.Create(t.Context(), b.Scope, team.By{Actor: "cli:test"}, team.Draft{Key: "finance", Name: "Finance", Members: []string{"person:prs_ann"}})
	require.NoError(t, err)
	id, err := b.name(t, "prs_ann", "prs_bob", 0, 7*day)
	require.NoError(t, err)
	require.Equal(t, 1, b.Count("select count(*) from events where type = 'deputy.named' and actor = 'person:prs_ann' and data->>'deputy' = 'prs_bob'"))
	seen, err := b.service.Get(t.Context(), b.Scope, made.ID)
	require.NoError(t, err)
	require.Equal(t, "prs_bob", seen.Members[0].Deputy.DeputyID)

	by := team.By{Actor: "person:prs_bob"}
	require.True(t, problem.Is(b.service.WithdrawDeputy(t.Context(), b.Scope, by, "prs_bob", id), problem.Conflict), "only the absent person")
	b.clock.Advance(day)
	require.NoError(t, b.service.WithdrawDeputy(t.Context(), b.Scope, team.By{Actor: "person:prs_ann"}, "prs_ann", id))
	require.Equal(t, 1, b.Events("deputy.withdrawn"))
	require.True(t, problem.Is(b.service.WithdrawDeputy(t.Context(), b.Scope, by, "prs_ann", id), problem.Conflict), "once")
	left, err := b.service.Deputies(t.Context(), b.Scope)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = b.name(t, "prs_ann", "prs_cat", 2*day, 3*day)
	require.NoError(t, err, "the period is free again")
}

func TestDeputyIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		person, deputy string
		from, until    time.Duration
		code           problem.Code
	}{
		"of oneself":                       {"prs_cat", "prs_cat", 0, day, problem.BadRequest},
		"who is no reviewer":               {"prs_cat", "prs_eve", 0, day, problem.BadRequest},
		"who is unknown":                   {"prs_cat", "prs_nil", 0, day, problem.BadRequest},
		"for no time":                      {"prs_cat", "prs_bob", day, day, problem.BadRequest},
		"in the past":                      {"prs_cat", "prs_bob", -2 * day, -day, problem.BadRequest},
		"for more than 90 days":            {"prs_cat", "prs_bob", 0, 91 * day, problem.BadRequest},
		"beside another deputy":            {"prs_ann", "prs_cat", 6 * day, 8 * day, problem.Conflict},
		"who stands in for someone else":   {"prs_cat", "prs_bob", 6 * day, 8 * day, problem.Conflict},
		"who stands in for someone before": {"prs_cat", "prs_bob", 7 * day, 8 * day, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			_, err := b.name(t, "prs_ann", "prs_bob", 0, 7*day)
			require.NoError(t, err)
			_, err = b.name(t, c.person, c.deputy, c.from, c.until)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, problem.Is(err, c.code), "%v", err)
			require.Equal(t, 1, b.Events("deputy.named"))
		})
	}
}
