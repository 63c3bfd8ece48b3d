package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/models"
)

// Templates stores the behavioral templates of subjects, with their versions.
type Templates struct{ *Q }

// Templates returns the queries of the aggregate.
func (q *Q) Templates() Templates { return Templates{q} }

// RetireOfSubject retires every template version of the subject, including the superseded ones stored for a rollback.
func (q Templates) RetireOfSubject(ctx context.Context, s Scope, uid string, at time.Time) (int64, error) {
	return q.exec(ctx, `update templates set status = 'retired', updated_at = $4
		where subject_uid = $1 and tenant_id = $2 and environment_id = $3 and status <> 'retired'`, uid, s.Tenant, s.Environment, at)
}

const (
	templatesOfSubject = `select id, tenant_id, environment_id, subject_uid, modality, device_class, version, status, model_version,
		provisional, limitations, origin, origin_ref, data, created_at, updated_at
		from templates where tenant_id = $1 and environment_id = $2 and status = 'active' and subject_uid = $3` + templateOrder
	templateOrder      = " order by modality, device_class"
	templatesOfSession = `select id, model_version, data from templates where tenant_id = $1 and environment_id = $2 and status = 'active'
		and subject_uid = (select subject_uid from sessions where tenant_id = $1 and environment_id = $2 and id = $3)` + templateOrder
)

// Active returns the active templates of a subject.
func (q Templates) Active(ctx context.Context, s Scope, subjectUID string) ([]models.Template, error) {
	rows, err := q.query(ctx, templatesOfSubject, s.Tenant, s.Environment, subjectUID)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanTemplate)
}

func scanTemplate(row pgx.CollectableRow) (t models.Template, err error) {
	err = row.Scan(&t.ID, &t.TenantID, &t.EnvironmentID, &t.SubjectUID, &t.Modality, &t.DeviceClass, &t.Version, &t.Status,
		&t.ModelVersion, &t.Provisional, (*[]string)(&t.Limitations), &t.Origin, &t.OriginRef, &t.Data, &t.CreatedAt, &t.UpdatedAt)
	return t, err
}

// Heads returns the active templates of a subject without their data, which a decision does not need.
func (q Templates) Heads(ctx context.Context, s Scope, subjectUID string) ([]models.Template, error) {
	var rows []models.Template
	err := q.gorm(ctx).Omit("data").Where("tenant_id = ? and environment_id = ? and subject_uid = ? and status = 'active'",
		s.Tenant, s.Environment, subjectUID).Order("modality, device_class").Find(&rows).Error
	return rows, err
}

// Replace activates a new version of a template and supersedes the previous one, which stays for a rollback.
func (q Templates) Replace(ctx context.Context, t models.Template) error {
	if _, err := q.exec(ctx, `update templates set status = 'superseded', updated_at = $4
		where subject_uid = $1 and modality = $2 and device_class = $3 and environment_id = $5 and status = 'active'`,
		t.SubjectUID, t.Modality, t.DeviceClass, t.CreatedAt, t.EnvironmentID); err != nil {
		return err
	}
	err := q.queryRow(ctx, `select coalesce(max(version), 0) + 1 from templates
		where subject_uid = $1 and modality = $2 and device_class = $3 and environment_id = $4`, t.SubjectUID, t.Modality, t.DeviceClass, t.EnvironmentID).Scan(&t.Version)
	if err != nil {
		return err
	}
	if t.Origin == "" {
		t.Origin = models.OriginEnrollment
	}
	return q.gorm(ctx).Create(&t).Error
}

// List lists the versions of a subject's templates without their data, newest first.
func (q Templates) List(ctx context.Context, s Scope, subjectUID string, p Page) ([]models.Template, string, error) {
	tx, err := paginate(q.gorm(ctx).Omit("data").Where("tenant_id = ? and environment_id = ? and subject_uid = ?", s.Tenant, s.Environment, subjectUID),
		p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.Template
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := cutPage(rows, p, func(t models.Template) (time.Time, string) { return t.CreatedAt, t.ID })
	return rows, next, nil
}

// AdaptedBy reports whether the session has adapted a template, and when any session last adapted one of the subject's
// templates for the class of device; nil if none did.
func (q Templates) AdaptedBy(ctx context.Context, s Scope, subjectUID, device, session string) (did bool, last *time.Time, err error) {
	err = q.queryRow(ctx, `select coalesce(bool_or(origin_ref = $5), false), max(created_at) from templates
		where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and device_class = $4 and origin = 'adaptation'`,
		s.Tenant, s.Environment, subjectUID, device, session).Scan(&did, &last)
	return did, last, err
}

// SaveData replaces the data of an active version without a new version. It returns false if the version is not active.
func (q Templates) SaveData(ctx context.Context, environment, id string, data []byte, at time.Time) (bool, error) {
	n, err := q.exec(ctx, "update templates set data = $2, updated_at = $3 where id = $1 and environment_id = $4 and status = 'active'", id, data, at, environment)
	return n == 1, err
}

// DropVersions deletes superseded versions that were not made by an enrollment, except the newest keep of them.
func (q Templates) DropVersions(ctx context.Context, t models.Template, keep int) (int64, error) {
	return q.exec(ctx, `delete from templates where environment_id = $5 and id in (select id from templates
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

// RollBack activates a superseded version again and retires the active one. It returns the number of the retired version and
// the activated version, or ErrNotFound if there is no such version.
func (q Templates) RollBack(ctx context.Context, s Scope, r RollBack, at time.Time) (from int, to models.Template, err error) {
	var rows []models.Template
	err = q.gorm(ctx).Omit("data").Where(`tenant_id = ? and environment_id = ? and subject_uid = ? and modality = ? and device_class = ?
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
		return 0, to, ErrNotFound
	}
	if _, err := q.exec(ctx, "update templates set status = 'retired', updated_at = $2 where id = $1 and environment_id = $3", active.ID, at, s.Environment); err != nil {
		return 0, to, err
	}
	to.Status, to.UpdatedAt = models.TemplateActive, at
	_, err = q.exec(ctx, "update templates set status = 'active', updated_at = $2 where id = $1 and environment_id = $3", to.ID, at, s.Environment)
	return active.Version, to, err
}

// ModelVersions are versions of backgrounds of one environment, or of all environments but some.
type ModelVersions struct {
	Environment string
	Except      []string
	Versions    []string
}

// ByModelVersions returns at most limit active templates of a modality that were learned with one of the model versions.
func (q Templates) ByModelVersions(ctx context.Context, modality string, of ModelVersions, limit int) ([]models.Template, error) {
	if len(of.Versions) == 0 {
		return nil, nil
	}
	var rows []models.Template
	tx := q.gorm(ctx).Where("status = 'active' and modality = ? and model_version in ?", modality, of.Versions)
	switch {
	case of.Environment != "":
		tx = tx.Where("environment_id = ?", of.Environment)
	case len(of.Except) > 0:
		tx = tx.Where("environment_id not in ?", of.Except)
	}
	err := tx.Order("model_version, id").Limit(limit).Find(&rows).Error
	return rows, err
}
