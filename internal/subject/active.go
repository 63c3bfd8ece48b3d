package subject

import (
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// RequireActive wraps a query for a subject: it returns the problem not_found (404) if there is none and subject_revoked (409)
// if it is revoked, and passes any other error through. Operations that start something for a subject use it:
//
//	sub, err := subject.RequireActive(q.Subjects().Lock(ctx, scope, id))
func RequireActive(row models.Subject, err error) (models.Subject, error) {
	if err != nil {
		return row, notFound(err)
	}
	if row.Status != models.SubjectActive {
		return row, problem.New(problem.SubjectRevoked, "The subject is revoked.")
	}
	return row, nil
}
