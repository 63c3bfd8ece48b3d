package template

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/backgrounds"
	"github.com/countersign-dev/countersign/internal/behavior/features"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// retrainBatch is the maximum number of templates that one call of RetrainOutdated retrains.
const retrainBatch = 100

// RetrainOutdated retrains a batch of templates that were trained with an earlier population model, and stores them as new
// versions. It returns how many it retrained and whether there are more. Until a template is retrained here, it is retrained in
// memory each time it is read.
func (s *Service) RetrainOutdated(ctx context.Context, at time.Time, by string) (done int, more bool, err error) {
	// The assessor knows the model versions that it can retrain from; templates of other versions stay as they are.
	for _, m := range features.Modalities() {
		for _, o := range s.assessor.Outdated(m) {
			rows, err := templatesByModelVersions(ctx, s.store.Q, string(m), modelVersions(o), retrainBatch-done)
			if err != nil {
				return done, false, err
			}
			for _, row := range rows {
				if err := s.retrain(ctx, row, at, by); err != nil {
					return done, true, err
				}
				done++
			}
			if done == retrainBatch {
				return done, true, nil
			}
		}
	}
	return done, false, nil
}

// retrain stores one template as a version of the current model, if it still is the active version. By is the id of the
// workflow.
func (s *Service) retrain(ctx context.Context, found models.Template, at time.Time, by string) error {
	return s.store.Write(ctx, func(q *pg.Q) error {
		scope := pg.Scope{Tenant: found.TenantID, Environment: found.EnvironmentID}
		sub, err := subjectrow.LockByUID(ctx, q, scope, found.SubjectUID)
		if err != nil {
			if errors.Is(err, pg.ErrNotFound) {
				return nil // erased since
			}
			return err
		}
		rows, err := backgrounds.ActiveTemplate(ctx, q, scope, sub.UID)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.ID != found.ID {
				continue
			}
			ts, err := s.assessor.Templates([]models.Template{row})
			if err != nil || ts[0].ModelVersion == row.ModelVersion {
				return err
			}
			from := row.ModelVersion
			row.Origin, row.OriginRef = models.OriginRetraining, found.ID
			if row, err = s.saveVersion(ctx, q, row, ts[0], at); err != nil {
				return err
			}
			return events.Append(ctx, q, events.Entry{
				Scope: scope, At: at, SubjectUID: sub.UID, Subject: sub.ExternalID, Actor: "workflow:" + by,
				WorkflowID: by, Data: events.TemplateTrainedData{
					Template: row.ID, Modality: row.Modality, DeviceClass: row.DeviceClass, FromModel: from, ModelVersion: row.ModelVersion,
				},
			})
		}
		return nil
	})
}
