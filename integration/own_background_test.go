package integration_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/outbox"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject/template"
	"github.com/countersign-dev/countersign/internal/testing/storetest"
	"github.com/countersign-dev/countersign/models"
)

// people stores subjects with templates of the stated prior, as if they had enrolled before.
func (w world) people(t *testing.T, n int) {
	t.Helper()
	assessor := assurance.New(scoring.Default(), shared.Keys)
	for seed := range n {
		sub := storetest.Subject(t, shared.Store, w.Environment, fmt.Sprint("person-", seed))
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
		require.NoError(t, shared.Store.Write(t.Context(), func(q *pg.Q) error {
			return template.ReplaceTemplate(t.Context(), q, models.Template{
				ID: id, TenantID: w.TenantID, EnvironmentID: w.ID, SubjectUID: sub.UID, Modality: "keystroke", DeviceClass: "desktop",
				Status: models.TemplateActive, ModelVersion: ts[0].ModelVersion, Limitations: models.Strings{}, Data: data,
				CreatedAt: sub.CreatedAt, UpdatedAt: sub.CreatedAt,
			})
		}))
	}
}

// An environment of people whom it has not counted yet learns its background in one run of the daily workflow, and uses it for
// everyone; with the setting prior it forgets it.
func TestAnEnvironmentLearnsItsOwnBackground(t *testing.T) {
	t.Parallel()
	w := newSandbox(t)
	require.Equal(t, "own", w.Admin.get(t, "/api/v1/environment").is(200).value("background"))
	w.people(t, 24)
	require.NoError(t, shared.Store.Write(t.Context(), func(q *pg.Q) error {
		return outbox.Add(t.Context(), q, outbox.Item{Topic: outbox.TopicBackgroundStart, Environment: w.ID, Ref: w.ID + "/2026-11-23", At: storetest.Epoch})
	}))
	version := "cs-bg-0-keystroke-" + w.ID + "-1"
	eventually(t, func() bool {
		return count(t, "select count(*) from templates where environment_id = $1 and status = 'active' and model_version = $2", w.ID, version) == 24
	}, "every template is trained anew with the environment's own background")
	require.Equal(t, 1, count(t, "select count(*) from events where environment_id = $1 and type = 'background.own_activated' and actor like 'workflow:background/%'", w.ID))
	path := "/api/v1/subjects/person-3/templates"
	require.Equal(t, "retraining", w.Server.get(t, path).is(200).list()[0]["origin"])
	session := w.Server.post(t, "/api/v1/sessions", object{"subject": "person-3", "device_class": "desktop"}).is(201).string("id")
	model := w.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200).string("model_version")
	require.Contains(t, model, version)

	w.Admin.patch(t, "/api/v1/environment", object{"background": "everyone"}).is(422)
	w.Admin.patch(t, "/api/v1/environment", object{"background": "prior"}).is(200)
	eventually(t, func() bool {
		return w.Server.get(t, "/api/v1/sessions/"+session+"/assessment").is(200).string("model_version") != model
	}, "every replica follows")
	require.Zero(t, count(t, "select count(*) from background_sums where environment_id = $1", w.ID))
}
