package authorization

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/statuslink"
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/models"
)

// TestAStoredResponseIsWhatWasReturned draws every field of a response. Postgres stores JSON with other spaces and another order of its keys,
// and times to the microsecond.
func TestAStoredResponseIsWhatWasReturned(t *testing.T) {
	t.Parallel()
	respelt := func(t *rapid.T, value any) []byte {
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		var fields map[string]any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		require.NoError(t, d.Decode(&fields))
		out, err := json.MarshalIndent(fields, "", " ")
		require.NoError(t, err)
		return out
	}
	s := &Service{status: statuslink.New(testenv.Keys(), "https://trust.example")}
	rapid.Check(t, func(t *rapid.T) {
		a := models.Authorization{
			ID: rapid.String().Draw(t, "id"), EnvironmentID: rapid.String().Draw(t, "environment"), Mode: rapid.Make[models.ActionMode]().Draw(t, "mode"),
			Decision: rapid.String().Draw(t, "decision"), ActionKey: rapid.String().Draw(t, "action"), ActionHash: rapid.String().Draw(t, "hash"),
			PolicyVersion: rapid.Int().Draw(t, "version"), ReasonCodes: rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "codes"),
			TraceID: rapid.String().Draw(t, "trace"), DecidedAt: time.Unix(0, rapid.Int64().Draw(t, "decided")), LatencyMS: rapid.Int().Draw(t, "latency"),
		}
		r := respond(&a, rapid.Make[assurance.Profile]().Draw(t, "profile"), rapid.Make[remainder]().Draw(t, "rest"))
		r.Proof = rapid.Ptr(rapid.String(), true).Draw(t, "proof")
		a.Assurance, a.Response = respelt(t, r.Assurance), respelt(t, r.remainder())
		if r.Hold != nil {
			r.Hold.StatusURL = s.status.Complete(r.Hold.StatusURL)
		}
		want, err := json.Marshal(r)
		require.NoError(t, err)
		a.DecidedAt = a.DecidedAt.Truncate(time.Microsecond)
		read, err := s.readStored(&a)
		require.NoError(t, err)
		read.Proof = r.Proof
		got, err := json.Marshal(read)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}
