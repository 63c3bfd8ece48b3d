package subject

import (
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// RequireActive judges what a look-up of a subject answered: what begins anew is refused to one who is absent (404) or
// revoked (409). Any other error passes through.
func RequireActive(row models.Subject, err error) (models.Subject, error) {
	if err != nil {
		return row, notFound(err)
	}
	if row.Status != models.SubjectActive {
		return row, problem.New(problem.SubjectRevoked, "The subject is revoked.")
	}
	return row, nil
}
