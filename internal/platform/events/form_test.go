package events_test

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// TestRowsAreWrittenAsTheyAreVerified compares the data of a decision's event with their form by encoding/json, and its digest with the one
// that an audit computes. Every field is drawn, also those that are added later.
func TestRowsAreWrittenAsTheyAreVerified(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.Make[events.AuthorizationDecidedData]().Draw(t, "data")
		if rapid.Bool().Draw(t, "exact") { // drawn integers seldom have an exact form
			data.PolicyVersion, data.LatencyMS = rapid.IntRange(0, 1000).Draw(t, "version"), nil
		}
		row, err := events.Row(events.Entry{
			Scope: pg.Scope{Tenant: "tnt_1", Environment: "env_1"}, At: time.Unix(1, 0), Actor: "crd_1", Data: data,
			SubjectUID: "sub_1", Subject: rapid.String().Draw(t, "subject"), RequestID: rapid.String().Draw(t, "request"),
		})
		want, refused := canonical.JSON(data)
		if refused != nil {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, string(want), string(row.Data))
		digest, err := events.Digest(row)
		require.NoError(t, err)
		require.Equal(t, digest, []byte(row.Digest))
		whole, err := canonical.JSON(map[string]any{"subject_uid": row.SubjectUID, "subject": row.Subject, "request_id": row.RequestID, "data": data})
		require.NoError(t, err)
		sum := sha256.Sum256(append(slices.Clone(row.Salt), whole...))
		require.Equal(t, sum[:], digest)
	})
}
