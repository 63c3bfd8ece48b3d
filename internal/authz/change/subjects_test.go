package change_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// The end of a revocation takes a second principal, whatever the environment requires, and happens once.
func TestASecondPrincipalEndsARevocation(t *testing.T) {
	t.Parallel()
	for name, required := range map[string]bool{"a second approver is required": true, "no second approver is required": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Exec("update environments set second_approver_required = $1", required)
			id := b.Subject.ExternalID
			_, err := b.service.Reinstate(t.Context(), b.ann, id, "recovered")
			require.True(t, problem.Is(err, problem.Conflict), "an active subject: %v", err)
			b.Exec("update subjects set status = 'revoked', revoked_at = $2 where uid = $1", b.Subject.UID, now)
			_, err = b.service.Reinstate(t.Context(), b.ann, "nobody", "recovered")
			require.True(t, problem.Is(err, problem.NotFound), "%v", err)
			_, err = b.service.Reinstate(t.Context(), b.ann, id, "")
			require.Equal(t, []any{"body", "reason"}, problem.As(err).Fields[0].Loc)

			v, err := b.service.Reinstate(t.Context(), b.ann, id, "recovered")
			require.NoError(t, err)
			require.Equal(t, models.ChangeSubjectReinstate, v.Kind)
			require.Equal(t, id, v.Subject)
			_, err = b.decide(t, v.ID, change.Approve, b.ann)
			require.True(t, problem.Is(err, problem.SelfApproval), "%v", err)
			_, err = b.decide(t, v.ID, change.Approve, b.narrowed("policy.activate"))
			require.True(t, problem.Is(err, problem.Forbidden), "%v", err)
			require.Equal(t, models.SubjectRevoked, b.subject(t).Status)

			_, err = b.decide(t, v.ID, change.Approve, b.bob)
			require.NoError(t, err)
			require.Equal(t, models.SubjectActive, b.subject(t).Status)
			require.Nil(t, b.subject(t).RevokedAt)
			require.Contains(t, b.events(t), "subject.reinstated")

			b.Exec("update subjects set status = 'revoked', revoked_at = $2 where uid = $1", b.Subject.UID, now)
			_, err = b.decide(t, v.ID, change.Approve, b.bob)
			require.NoError(t, err, "a repeated approval returns the outcome")
			require.Equal(t, models.SubjectRevoked, b.subject(t).Status)
		})
	}
}

// A request is for the revocation that it names: not for a later one, and not for a subject that was created again.
func TestReinstatementIsOfOneRevocation(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(b *bundle, id string){
		"revoked again": func(b *bundle, _ string) {
			b.Exec("update subjects set revoked_at = $2 where uid = $1", b.Subject.UID, now.Add(1e9))
		},
		"erased": func(b *bundle, id string) {
			require.NoError(t, b.Store.Write(t.Context(), func(q *pg.Q) error { return change.ForgetSubject(t.Context(), q, b.Scope, id) }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Exec("update subjects set status = 'revoked', revoked_at = $2 where uid = $1", b.Subject.UID, now)
			v, err := b.service.Reinstate(t.Context(), b.ann, b.Subject.ExternalID, "recovered, says "+b.Subject.ExternalID)
			require.NoError(t, err)
			act(b, b.Subject.ExternalID)
			out, err := b.decide(t, v.ID, change.Approve, b.bob)
			require.NoError(t, err)
			require.Equal(t, models.ChangeSuperseded, out.Status)
			require.Equal(t, models.SubjectRevoked, b.subject(t).Status)
			if name == "erased" {
				require.Zero(t, b.Count("select count(*) from changes c where position($1 in c::text) > 0", b.Subject.ExternalID))
			}
		})
	}
}

func (b *bundle) subject(t *testing.T) models.Subject {
	t.Helper()
	row, err := subjectrow.Get(t.Context(), b.Store.Q, b.Scope, b.Subject.ExternalID)
	require.NoError(t, err)
	return row
}
