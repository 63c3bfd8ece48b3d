package subject_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/subject"
)

// openRows counts what is open for a subject, by table.
var openRows = map[string]string{
	"proofs":              "select count(*)::text from proofs where status = 'active' and subject_uid = $1",
	"challenges":          "select count(*)::text from challenges where status = 'open' and subject_uid = $1",
	"holds":               "select count(*)::text from holds where status = 'pending' and subject_uid = $1",
	"registration_grants": "select count(*)::text from registration_grants where used_at is null and expires_at > created_at and subject_uid = $1",
	"client_tokens":       "select count(*)::text from client_tokens where revoked_at is null and subject_uid = $1",
	"subject_aliases":     "select count(*)::text from subject_aliases where subject_uid = $1",
	"standing_approvals":  "select count(*)::text from standing_approvals where status = 'active' and subject_uid = $1",
	"sessions":            "select count(*)::text from sessions where status = 'active' and subject_uid = $1",
}

// Each incident ends the open rows of each table as pg.OfSubject says, and those of no other subject.
func TestIncidentsEndWhatIsDeclared(t *testing.T) {
	t.Parallel()
	for _, table := range pg.SubjectTables() {
		require.Equal(t, len(table.Subject.Ends) > 0, openRows[table.Name] != "", "%s: say in openRows which rows are open", table.Name)
	}
	for reason, incident := range map[string]pg.Incident{
		subject.ReasonRecovery: pg.Recovery, subject.ReasonRevoked: pg.Revocation, subject.ReasonErasure: pg.Erasure,
		subject.ReasonSessionsRevoked: pg.SessionsRevoked, subject.ReasonAccountAtRisk: pg.AccountAtRisk,
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			v, neighbour := b.create(t, canary), b.create(t, "neighbour")
			b.seed(t, v.Subject)
			b.seed(t, neighbour.Subject)
			void := subject.Void{Subject: v.Subject, Reason: reason, At: b.clock.Now(), Actor: "credential:crd_1"}
			for range 2 { // repeating it has no effect
				require.NoError(t, b.store.Write(t.Context(), func(q *pg.Q) error { return void.Open(t.Context(), q) }))
			}
			for _, table := range pg.SubjectTables() {
				open := openRows[table.Name]
				if open == "" {
					continue
				}
				left := b.texts(t, open, v.UID)[0]
				require.Equal(t, table.Subject.EndsAt(incident), left == "0", "%s at %s: %s open", table.Name, incident, left)
				require.NotEqual(t, "0", b.texts(t, open, neighbour.UID)[0], table.Name)
			}
		})
	}
}
