package template

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// LockSession is like identity.GetSession and locks the session until the transaction ends.
func LockSession(ctx context.Context, q *pg.Q, s pg.Scope, id string) (identity.SubjectSession, error) {
	return identity.LookUpSession(ctx, q, s, id, clause.Locking{Strength: "UPDATE"})
}

// SaveSession stores the evidence fields of an active session. It returns false if the session is not active.
func SaveSession(ctx context.Context, q *pg.Q, r models.Session) (bool, error) {
	n, err := q.Exec(ctx, `update sessions set version = version + 1, last_activity_at = $2, last_evidence_at = $3, coverage = $4, evidence_windows = $5,
		active_seconds = $6, modalities = $7, enrollment_ready = $8, trust_state = $9, state = $10
		where id = $1 and environment_id = $11 and status = 'active'`, r.ID, r.LastActivityAt, r.LastEvidenceAt, r.Coverage, r.EvidenceWindows,
		r.ActiveSeconds, r.Modalities, r.EnrollmentReady, r.TrustState, r.State, r.EnvironmentID)
	return n > 0, err
}

// activeSessionIDs returns the ids of at most limit active sessions of a subject, newest first.
func activeSessionIDs(ctx context.Context, q *pg.Q, s pg.Scope, subjectUID string, limit int) ([]string, error) {
	var ids []string
	err := q.Gorm(ctx).Raw(`select id from sessions where tenant_id = ? and environment_id = ? and subject_uid = ? and status = 'active'
		order by started_at desc limit ?`, s.Tenant, s.Environment, subjectUID, limit).Find(&ids).Error
	return ids, err
}

// sessionByID returns a session of an environment, for the workflow that adapts templates after its end.
func sessionByID(ctx context.Context, q *pg.Q, environment, id string) (models.Session, error) {
	var row models.Session
	return pg.OrNotFound(row, q.Gorm(ctx).Where("environment_id = ? and id = ?", environment, id).Take(&row).Error)
}

// Heads returns the active templates of a subject without their data, which a decision does not need.
func Heads(ctx context.Context, q *pg.Q, s pg.Scope, subjectUID string) ([]models.Template, error) {
	var rows []models.Template
	err := q.Gorm(ctx).Omit("data").Where("tenant_id = ? and environment_id = ? and subject_uid = ? and status = 'active'",
		s.Tenant, s.Environment, subjectUID).Order("modality, device_class").Find(&rows).Error
	return rows, err
}

// ReplaceTemplate activates a new version of a template and supersedes the previous one, which stays for a rollback.
func ReplaceTemplate(ctx context.Context, q *pg.Q, t models.Template) error {
	if _, err := q.Exec(ctx, `update templates set status = 'superseded', updated_at = $4
		where subject_uid = $1 and modality = $2 and device_class = $3 and environment_id = $5 and status = 'active'`,
		t.SubjectUID, t.Modality, t.DeviceClass, t.CreatedAt, t.EnvironmentID); err != nil {
		return err
	}
	err := q.QueryRow(ctx, `select coalesce(max(version), 0) + 1 from templates
		where subject_uid = $1 and modality = $2 and device_class = $3 and environment_id = $4`, t.SubjectUID, t.Modality, t.DeviceClass, t.EnvironmentID).Scan(&t.Version)
	if err != nil {
		return err
	}
	if t.Origin == "" {
		t.Origin = models.OriginEnrollment
	}
	return q.Gorm(ctx).Create(&t).Error
}

// listTemplates lists the versions of a subject's templates without their data, newest first.
func listTemplates(ctx context.Context, q *pg.Q, s pg.Scope, subjectUID string, p pg.Page) ([]models.Template, string, error) {
	tx, err := pg.Paginate(q.Gorm(ctx).Omit("data").Where("tenant_id = ? and environment_id = ? and subject_uid = ?", s.Tenant, s.Environment, subjectUID),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Template
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(t models.Template) (time.Time, string) { return t.CreatedAt, t.ID })
	return rows, next, nil
}

// adaptedBySession reports whether the session has adapted a template, and when any session last adapted one of the subject's
// templates for the class of device; nil if none did.
func adaptedBySession(ctx context.Context, q *pg.Q, s pg.Scope, subjectUID, device, session string) (did bool, last *time.Time, err error) {
	err = q.QueryRow(ctx, `select coalesce(bool_or(origin_ref = $5), false), max(created_at) from templates
		where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and device_class = $4 and origin = 'adaptation'`,
		s.Tenant, s.Environment, subjectUID, device, session).Scan(&did, &last)
	return did, last, err
}

// saveTemplateData replaces the data of an active version without a new version. It returns false if the version is not active.
func saveTemplateData(ctx context.Context, q *pg.Q, environment, id string, data []byte, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, "update templates set data = $2, updated_at = $3 where id = $1 and environment_id = $4 and status = 'active'", id, data, at, environment)
	return n == 1, err
}

// dropTemplateVersions deletes superseded versions that were not made by an enrollment, except the newest keep of them.
func dropTemplateVersions(ctx context.Context, q *pg.Q, t models.Template, keep int) (int64, error) {
	return q.Exec(ctx, `delete from templates where environment_id = $5 and id in (select id from templates
		where environment_id = $5 and subject_uid = $1 and modality = $2 and device_class = $3 and status = 'superseded' and origin <> 'enrollment'
		order by version desc offset $4)`, t.SubjectUID, t.Modality, t.DeviceClass, keep, t.EnvironmentID)
}

// RollBack names the template to roll back and the version to return to.
type RollBack struct {
	SubjectUID string
	Modality   string
	Device     string // the class of device
	Version    *int   // nil for the newest version before the active one
}

// rollBackTemplate activates a superseded version again and retires the active one. It returns the number of the retired version and
// the activated version, or ErrNotFound if there is no such version.
func rollBackTemplate(ctx context.Context, q *pg.Q, s pg.Scope, r RollBack, at time.Time) (from int, to models.Template, err error) {
	var rows []models.Template
	err = q.Gorm(ctx).Omit("data").Where(`tenant_id = ? and environment_id = ? and subject_uid = ? and modality = ? and device_class = ?
		and status <> 'retired'`, s.Tenant, s.Environment, r.SubjectUID, r.Modality, r.Device).Order("version desc").Find(&rows).Error
	if err != nil {
		return 0, to, err
	}
	var active *models.Template
	for i, t := range rows {
		switch {
		case t.Status == models.TemplateActive:
			active = &rows[i]
		case r.Version == nil && active != nil && to.ID == "", r.Version != nil && *r.Version == t.Version:
			to = t
		}
	}
	if active == nil || to.ID == "" {
		return 0, to, pg.ErrNotFound
	}
	if _, err := q.Exec(ctx, "update templates set status = 'retired', updated_at = $2 where id = $1 and environment_id = $3", active.ID, at, s.Environment); err != nil {
		return 0, to, err
	}
	to.Status, to.UpdatedAt = models.TemplateActive, at
	_, err = q.Exec(ctx, "update templates set status = 'active', updated_at = $2 where id = $1 and environment_id = $3", to.ID, at, s.Environment)
	return active.Version, to, err
}

// modelVersions are versions of backgrounds of one environment, or of all environments but some.
type modelVersions struct {
	Environment string
	Except      []string
	Versions    []string
}

// templatesByModelVersions returns at most limit active templates of a modality that were learned with one of the model versions.
func templatesByModelVersions(ctx context.Context, q *pg.Q, modality string, of modelVersions, limit int) ([]models.Template, error) {
	if len(of.Versions) == 0 {
		return nil, nil
	}
	var rows []models.Template
	tx := q.Gorm(ctx).Where("status = 'active' and modality = ? and model_version in ?", modality, of.Versions)
	switch {
	case of.Environment != "":
		tx = tx.Where("environment_id = ?", of.Environment)
	case len(of.Except) > 0:
		tx = tx.Where("environment_id not in ?", of.Except)
	}
	err := tx.Order("model_version, id").Limit(limit).Find(&rows).Error
	return rows, err
}
