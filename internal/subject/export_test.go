package subject_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/subject"
)

// exported is a SubjectExport as a client parses it.
type exported struct {
	Subject string          `json:"subject"`
	Schema  string          `json:"schema_version"`
	Digest  string          `json:"digest"`
	Data    json.RawMessage `json:"data"`
}

// sections returns the lists of the data.
func (e exported) sections(t *testing.T) map[string][]map[string]any {
	t.Helper()
	var data map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(e.Data, &data))
	delete(data, "subject")
	out := map[string][]map[string]any{}
	for name, raw := range data {
		var rows []map[string]any
		require.NoError(t, json.Unmarshal(raw, &rows), name)
		out[name] = rows
	}
	return out
}

func (b *bundle) export(t *testing.T, id string) exported {
	t.Helper()
	e, err := b.service.Export(context.Background(), b.principal, id)
	require.NoError(t, err)
	body, err := io.ReadAll(e.Body)
	require.NoError(t, err)
	require.NoError(t, e.Body.Close())
	require.Len(t, body, int(e.Size))
	var out exported
	require.NoError(t, json.Unmarshal(body, &out))
	require.Equal(t, id, out.Subject)
	require.Equal(t, subject.ExportSchema, out.Schema)
	require.Equal(t, e.Digest, out.Digest)
	digest, err := canonical.Digest(out.Data)
	require.NoError(t, err)
	require.Equal(t, digest, out.Digest, "a client can recompute the digest from data")
	plain, err := canonical.JSON(out.Data)
	require.NoError(t, err)
	require.Equal(t, string(plain), string(out.Data), "data is sent in canonical form")
	return out
}

func TestExportContainsAllDataOfTheSubjectOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.create(t, canary)
	s := b.seed(t, v.Subject)
	other := b.create(t, "other-user")
	b.seed(t, other.Subject)
	timing, err := b.keys.Seal(subject.TimingPurpose, []byte(`{"lengths":[3],"n":5}`), []byte(v.UID))
	require.NoError(t, err)
	b.exec(t, "update subjects set timing_template = $2 where uid = $1", v.UID, timing)

	e := b.export(t, canary)
	require.NotContains(t, string(e.Data), "other-user")
	require.NotContains(t, string(e.Data), v.UID, "the uid is not exported")
	require.NotContains(t, string(e.Data), "a.b.c", "an open proof is not exported")
	var self struct {
		Subject struct {
			ID     string          `json:"id"`
			Timing json.RawMessage `json:"timing_template"`
		} `json:"subject"`
	}
	require.NoError(t, json.Unmarshal(e.Data, &self))
	require.Equal(t, canary, self.Subject.ID)
	require.JSONEq(t, `{"lengths":[3],"n":5}`, string(self.Subject.Timing), "the timing template of /enrol is unsealed")

	sections := e.sections(t)
	for name, rows := range sections {
		require.NotEmpty(t, rows, name)
	}
	require.Equal(t, s.session, sections["sessions"][0]["id"])
	require.Equal(t, "2026-03-01T09:00:00.000Z", sections["sessions"][0]["started_at"])
	template, ok := sections["templates"][0]["data"].(map[string]any)
	require.True(t, ok, "a template is unsealed")
	require.Equal(t, "keystroke", template["modality"])
	require.Contains(t, template["sessions"].([]any)[0].(map[string]any)["cells"], "h:LI", "with named cells")
	require.Len(t, template["posterior"].(map[string]any)["mean"], features.Dim(features.Keystroke))
	require.Contains(t, sections["sessions"][0]["state"], "keystroke", "the state of a session is unsealed")
	require.Equal(t, map[string]any{"kept": []any{"/amount"}, "context": map[string]any{"amount": 250.0}}, sections["kept_values"][0]["kept"],
		"kept values are unsealed")
	require.Equal(t, "seeded", sections["list_entries"][0]["name"])
	require.Equal(t, "called back", sections["review_notes"][0]["note"], "notes are unsealed")
	frame := sections["frames"][0]["vector"].(map[string]any)
	require.Equal(t, features.Accepted, features.Read(frame).Status, "a frame has the form in which it was sent")
	require.Equal(t, frame, sections["research_vectors"][0]["vector"])
	require.Equal(t, []string{e.Digest}, b.texts(t, "select data->>'digest' from events where type = 'subject.exported'"))
}

func TestExportOfAnEmptySubject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create(t, "user-1")
	e := b.export(t, "user-1")
	for name, rows := range e.sections(t) {
		require.NotNil(t, rows, "%s is a list, if an empty one", name)
		if name != "events" {
			require.Empty(t, rows, name)
		}
	}
	require.Contains(t, string(e.Data), `"timing_template":null`)
}

// Large subjects are exported completely, by several clients at once.
func TestExportStreamsLargeSubjectsConcurrently(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.create(t, "user-1")
	s := b.seed(t, v.Subject)
	const frames = 4000
	b.exec(t, `insert into frames (session_id, frame_id, environment_id, subject_uid, purpose, status, reason_codes, received_at, at, duration_ms, digest, vector)
		select session_id, 'g' || n, environment_id, subject_uid, purpose, status, reason_codes, received_at, at, duration_ms, digest, vector
		from frames, generate_series(1, $2) n where session_id = $1`, s.session, frames)
	done := make(chan error)
	for range 4 {
		go func() {
			e, err := b.service.Export(context.Background(), b.principal, "user-1")
			if err == nil {
				_, err = io.Copy(io.Discard, e.Body)
			}
			done <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	require.Len(t, b.export(t, "user-1").sections(t)["frames"], frames+1)
}

// A client that disconnects during an export releases its slot for the next one.
func TestExportAbortedByTheClientReleasesItsSlot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.create(t, "user-1")
	for range 5 {
		e, err := b.service.Export(context.Background(), b.principal, "user-1")
		require.NoError(t, err)
		require.NoError(t, e.Body.Close())
	}
	b.export(t, "user-1")
}
