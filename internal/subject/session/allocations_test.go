//go:build !race

package session_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/models"
)

// frameAllocations is the number of objects of an accepted frame of an enrolled subject whose session has a full window, from the text
// of its features to the response, with those of the driver and without those of HTTP.
const frameAllocations = 780

// frameSamples is the number of frames measured. A session sees this many more before them, so that its window is full.
const frameSamples = 25

// Not in parallel: the allocations of the whole process are counted. Not with the race detector, which empties pools at random.
// Fewer allocations fail as well, so that the number is lowered with them.
func TestFramesAllocateTheSame(t *testing.T) {
	b := setup(t)
	b.enroll(t)
	id := b.start(t)
	send := func(f session.Frame) {
		tree, err := strictjson.Decode(f.Features.([]byte), strictjson.Limits{AnyFinite: true})
		require.NoError(t, err)
		f.Features = tree
		ack, err := b.Evidence(t.Context(), b.principal, id, f)
		require.NoError(t, err)
		require.Equal(t, "accepted", ack.Status)
	}
	for range frameSamples {
		send(b.received(t))
	}
	frames := make([]session.Frame, frameSamples+1) // AllocsPerRun sends one more
	for i := range frames {
		frames[i] = b.received(t)
	}
	found := testing.AllocsPerRun(frameSamples, func() {
		send(frames[0])
		frames = frames[1:]
	})
	require.InEpsilon(t, frameAllocations, found, 0.05)
}

// received returns the next frame with the text of its features.
func (b *bundle) received(t *testing.T) session.Frame {
	t.Helper()
	f := b.frame()
	text, err := json.Marshal(f.Features)
	require.NoError(t, err)
	f.Features = text
	return f
}

// enroll stores a template of the typist.
func (b *bundle) enroll(t *testing.T) {
	t.Helper()
	var all []scoring.SessionFrames
	typist := synthetic.NewTypist(1)
	for range 3 {
		typist.NewDay()
		var s scoring.SessionFrames
		for range 6 {
			s.Frames = append(s.Frames, typist.Frame(50))
		}
		all = append(all, s)
	}
	ts, _, err := scoring.Default().Train(all, scoring.TrainOptions{Device: scoring.Desktop, Force: true})
	require.NoError(t, err)
	row := models.Template{
		ID: ids.New(ids.Template), TenantID: b.Scope.Tenant, EnvironmentID: b.Scope.Environment, SubjectUID: b.Subject.UID,
		Modality: "keystroke", DeviceClass: "desktop", Status: models.TemplateActive, ModelVersion: ts[0].ModelVersion,
		Limitations: models.Strings{}, CreatedAt: b.clock.Now(), UpdatedAt: b.clock.Now(),
	}
	row.Data, err = assurance.New(scoring.Default(), b.keys).SealTemplate(row.ID, ts[0])
	require.NoError(t, err)
	require.NoError(t, b.Store.Write(t.Context(), func(q *store.Q) error { return q.Templates().Replace(t.Context(), row) }))
}
