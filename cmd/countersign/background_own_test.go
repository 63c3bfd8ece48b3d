package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/internal/testing/fixture"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// enrolled stores templates of simulated people, as enrollments do.
func enrolled(t *testing.T, w *fixture.World, people int) {
	t.Helper()
	keys, err := keyring.Parse(os.Getenv("COUNTERSIGN_MASTER_KEY"))
	require.NoError(t, err)
	assessor := assurance.New(scoring.Default(), keys)
	env, err := tenancy.GetEnvironment(t.Context(), w.Store.Q, w.Scope)
	require.NoError(t, err)
	for seed := range people {
		sub := storetest.Subject(t, w.Store, env, fmt.Sprint("person-", seed))
		who := synthetic.NewTypist(uint64(seed))
		var sessions []scoring.SessionFrames
		for range 3 {
			who.NewDay()
			var s scoring.SessionFrames
			for range 3 {
				s.Frames = append(s.Frames, who.Frame(50))
			}
			sessions = append(sessions, s)
		}
		ts, _, err := scoring.Default().Train(sessions, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
		require.NoError(t, err)
		id := ids.New(ids.Template)
		data, err := assessor.SealTemplate(models.Template{ID: id, SubjectUID: sub.UID}, ts[0])
		require.NoError(t, err)
		require.NoError(t, w.Store.Write(t.Context(), func(q *pg.Q) error {
			return template.ReplaceTemplate(context.Background(), q, models.Template{
				ID: id, TenantID: env.TenantID, EnvironmentID: env.ID, SubjectUID: sub.UID, Modality: "keystroke", DeviceClass: "desktop",
				Status: models.TemplateActive, ModelVersion: ts[0].ModelVersion, Limitations: models.Strings{}, Data: data,
				CreatedAt: storetest.Epoch, UpdatedAt: storetest.Epoch,
			})
		}))
	}
}

func TestBackgroundOfAnEnvironment(t *testing.T) {
	url := testenv.Database(t)
	c := newCLI(t, url)
	st := opened(t, url)
	w := fixture.New(t, st, storetest.Epoch)
	env := w.Scope.Environment
	enrolled(t, w, 24)
	require.Contains(t, c.ok("background", "update", "--environment", env), "nothing is learned: the setting is prior")
	c.fails("choose own, shared or prior", "tenant", "background", "--environment", env, "--choice", "everyone")
	require.Contains(t, c.ok("tenant", "background", "--environment", env, "--choice", "own"), "learned from the people who enroll in "+env)

	out := c.ok("background", "update", "--environment", env)
	require.Contains(t, out, "24 people looked at")
	require.Regexp(t, `keystroke: compared on 24 people: equal error rate [0-9.]+ %, before`, out)
	version := "cs-bg-0-keystroke-" + env + "-1"
	require.Contains(t, out, version+" of 24 people is in force")
	require.Contains(t, out, "pointer: 0 people: too few people to form a background")
	require.Equal(t, 1, w.Count("select count(*) from events where type = 'background.own_activated' and actor = 'cli:background update'"))
	shown := c.ok("background", "show", "--environment", env)
	require.Contains(t, shown, "in force: "+version+"+cs-bg-0-pointer")
	require.Regexp(t, `keystroke +24 +20 +24`, shown)
	require.Contains(t, shown, "## "+version+"\n", "the model card")
	require.Contains(t, shown, "- people, frames: 24, 0")
	require.Contains(t, shown, "formed of at least 20 people")
	require.Contains(t, c.ok("background", "update", "--environment", env), "too few people came or went")

	require.Contains(t, c.ok("background", "rollback", "--environment", env, "keystroke"), "cs-bg-0-keystroke is in force")
	require.Equal(t, 1, w.Count("select count(*) from events where type = 'background.own_retired' and actor = 'cli:background rollback'"))
	c.fails("no keystroke background of its own", "background", "rollback", "--environment", env, "keystroke")

	c.ok("tenant", "background", "--environment", env, "--choice", "prior")
	require.Zero(t, w.Count("select count(*) from background_sums"))
	require.Zero(t, w.Count("select count(*) from background_shares"), "with the setting, what was learned is deleted")
}
