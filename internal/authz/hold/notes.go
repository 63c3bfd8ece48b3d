package hold

import (
	"context"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// noted is a note with its digest. Kept is stored even if the environment stores no notes.
type noted struct {
	text, digest string
	kept         bool
}

// sealedNote returns the row of the note of a review. It is nil unless the environment stores notes, and for a note that colleagues could misread.
// The review itself has the note's digest only, and so have the workflow and its history.
func (s *Service) sealedNote(ctx context.Context, p identity.Principal, h models.Hold, n noted) (*models.ReviewNote, error) {
	env, err := tenancy.GetEnvironment(ctx, s.store.Q, p.Store())
	if err != nil || !env.ReviewNotes && !n.kept || displaytext.CheckLines("note", n.text) != nil {
		return nil, err
	}
	sealed, err := s.notes.Seal(h.AuthorizationID, p.Actor(), n.text)
	return &models.ReviewNote{
		AuthorizationID: h.AuthorizationID, Reviewer: p.Actor(), TenantID: h.TenantID, EnvironmentID: h.EnvironmentID, SubjectUID: h.SubjectUID,
		NoteDigest: n.digest, Note: sealed, WrittenAt: s.clock.Now(),
	}, err
}

// Notes returns the stored notes of the reviews of a hold, by reviewer.
func (s *Service) Notes(ctx context.Context, scope pg.Scope, id string) (map[string]string, error) {
	rows, err := notesOfHold(ctx, s.store.Q, scope, id)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(rows))
	for _, row := range rows {
		if out[row.Reviewer], err = s.notes.Open(id, row.Reviewer, row.Note); err != nil {
			return nil, err
		}
	}
	return out, nil
}
