package backgrounds

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// learnedChoice returns what the environment compares people with, and keeps it from changing until the transaction ends.
func learnedChoice(ctx context.Context, q *pg.Q, s pg.Scope) (models.BackgroundChoice, error) {
	var out models.BackgroundChoice
	err := q.QueryRow(ctx, "select background from environments where tenant_id = $1 and id = $2 for share", s.Tenant, s.Environment).Scan(&out)
	return pg.OrNotFound(out, err)
}

// learnedShares returns in which modalities a subject is counted.
func learnedShares(ctx context.Context, q *pg.Q, s pg.Scope, uid string) ([]models.BackgroundShare, error) {
	var rows []models.BackgroundShare
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ?", s.Tenant, s.Environment, uid).Find(&rows).Error
	return rows, err
}

// saveLearnedShare stores that a subject is counted, or that its template cannot be.
func saveLearnedShare(ctx context.Context, q *pg.Q, row models.BackgroundShare) error {
	_, err := q.Exec(ctx, `insert into background_shares (subject_uid, modality, environment_id, tenant_id, digest, counted_at)
		values ($1, $2, $3, $4, $5, $6) on conflict on constraint background_shares_pkey do update set digest = excluded.digest, counted_at = excluded.counted_at
		where background_shares.environment_id = $3 and background_shares.tenant_id = $4`,
		row.SubjectUID, row.Modality, row.EnvironmentID, row.TenantID, row.Digest, row.CountedAt)
	return err
}

// dropLearnedShare deletes the record of a subject that is counted no more.
func dropLearnedShare(ctx context.Context, q *pg.Q, s pg.Scope, uid, modality string) error {
	_, err := q.Exec(ctx, "delete from background_shares where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and modality = $4",
		s.Tenant, s.Environment, uid, modality)
	return err
}

// lockLearnedSums returns the sums of a modality for a change; without a row they have no people. Concurrent changes wait for each other.
func lockLearnedSums(ctx context.Context, q *pg.Q, s pg.Scope, modality string) (models.BackgroundSums, error) {
	if _, err := q.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended('background_sums ' || $1 || ' ' || $2, 0))", s.Environment, modality); err != nil {
		return models.BackgroundSums{}, err
	}
	out := models.BackgroundSums{EnvironmentID: s.Environment, TenantID: s.Tenant, Modality: modality}
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and modality = ?", s.Tenant, s.Environment, modality).Limit(1).Find(&out).Error
	return out, err
}

// saveLearnedSums stores sums that LockSums returned.
func saveLearnedSums(ctx context.Context, q *pg.Q, row models.BackgroundSums) error {
	_, err := q.Exec(ctx, `insert into background_sums (environment_id, tenant_id, modality, people, changes, sums, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7) on conflict (environment_id, modality) do update set people = excluded.people, changes = excluded.changes,
		sums = excluded.sums, updated_at = excluded.updated_at where background_sums.tenant_id = $2`,
		row.EnvironmentID, row.TenantID, row.Modality, row.People, row.Changes, row.Sums, row.UpdatedAt)
	return err
}

// Sums returns the sums of the modality that an environment learns from: its own or, if it shares, those of every environment of its kind
// that does.
func Sums(ctx context.Context, q *pg.Q, s pg.Scope, modality string, source models.BackgroundChoice) ([]models.BackgroundSums, error) {
	var rows []models.BackgroundSums
	tx := q.Gorm(ctx).Where("modality = ?", modality)
	if source == models.BackgroundShared {
		tx = tx.Where(`environment_id in (select e.id from environments e join environments mine on mine.kind = e.kind
			where e.background = 'shared' and mine.tenant_id = ? and mine.id = ?)`, s.Tenant, s.Environment)
	} else {
		tx = tx.Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment)
	}
	err := tx.Order("environment_id").Find(&rows).Error
	return rows, err
}

// countable selects active subjects with an active template of the modality on a desktop.
var countable = `select t.subject_uid from templates t` + subjectrow.Join("t") + ` and s.status = 'active'
	where t.tenant_id = $1 and t.environment_id = $2 and t.modality = $3 and t.status = 'active' and t.device_class = 'desktop' and `

// uncountedSubjects returns at most limit subjects whose template was not looked at yet.
func uncountedSubjects(ctx context.Context, q *pg.Q, s pg.Scope, modality string, limit int) ([]string, error) {
	return sampledUIDs(ctx, q, countable+`not exists (select from background_shares c where c.environment_id = t.environment_id and c.subject_uid = t.subject_uid and c.modality = $3)
		order by t.subject_uid limit $4`, s.Tenant, s.Environment, modality, limit)
}

// Sampling selects counted subjects.
type Sampling struct {
	Modality string
	Since    time.Time // only those counted later
	Seed     string    // the same subjects for the same seed
	Limit    int
}

// SampleTemplates returns a sample of the counted subjects.
func SampleTemplates(ctx context.Context, q *pg.Q, s pg.Scope, by Sampling) ([]string, error) {
	return sampledUIDs(ctx, q, countable+`exists (select from background_shares c where c.environment_id = t.environment_id and c.subject_uid = t.subject_uid and c.modality = $3
		and c.digest is not null and c.counted_at > $6) order by md5($4 || t.subject_uid) limit $5`,
		s.Tenant, s.Environment, by.Modality, by.Seed, by.Limit, by.Since)
}

func sampledUIDs(ctx context.Context, q *pg.Q, query string, args ...any) ([]string, error) {
	var out []string
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var uid string
		if err := rows.Scan(&uid); err != nil {
			return nil, err
		}
		out = append(out, uid)
	}
	return out, rows.Err()
}

// learnedVersions returns a subject's templates of a modality on a desktop with their data, newest first: at most limit, of any status.
func learnedVersions(ctx context.Context, q *pg.Q, s pg.Scope, uid, modality string, limit int) ([]models.Template, error) {
	var rows []models.Template
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ? and modality = ? and device_class = 'desktop'",
		s.Tenant, s.Environment, uid, modality).Order("version desc").Limit(limit).Find(&rows).Error
	return rows, err
}

// learningEnvironments returns the environments that learn from their people, oldest first.
func learningEnvironments(ctx context.Context, q *pg.Q) ([]models.Environment, error) {
	var rows []models.Environment
	err := pg.Unchecked(q.Gorm(ctx)).Where("background <> 'prior'").Order("created_at, id").Find(&rows).Error
	return rows, err
}

// OfEnvironment returns the backgrounds that an environment learned, newest first.
func OfEnvironment(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.EnvironmentBackground, error) {
	var rows []models.EnvironmentBackground
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).Order("modality, number desc").Find(&rows).Error
	return rows, err
}

// InUse returns the backgrounds that processes load: those in force and those that a template was trained with which is active or may be again.
func InUse(ctx context.Context, q *pg.Q) ([]models.EnvironmentBackground, error) {
	var rows []models.EnvironmentBackground
	err := q.Gorm(ctx).Where(`status = 'active' or status = 'retired' and (environment_id, modality, version) in
		(select environment_id, modality, model_version from templates where status <> 'retired' group by 1, 2, 3)`).Order("environment_id, number").Find(&rows).Error
	return rows, err
}

// insertLearnedBackground stores a compared background. It returns false if the environment has one of the same number.
func insertLearnedBackground(ctx context.Context, q *pg.Q, b models.EnvironmentBackground) (bool, error) {
	n, err := q.Exec(ctx, `insert into environment_backgrounds (version, environment_id, tenant_id, modality, number, status, source, people, changes, body,
		comparison, made_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict do nothing`,
		b.Version, b.EnvironmentID, b.TenantID, b.Modality, b.Number, b.Status, b.Source, b.People, b.Changes, b.Body, b.Comparison, b.MadeAt)
	return n == 1, err
}

// activateLearnedBackground puts a background with the status from in force, if the modality has none, and notifies every process. It returns false if it
// does not have that status.
func activateLearnedBackground(ctx context.Context, q *pg.Q, s pg.Scope, version string, from models.BackgroundStatus, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update environment_backgrounds set status = 'active', activated_at = $5, retired_at = null
		where tenant_id = $1 and environment_id = $2 and version = $3 and status = $4`, s.Tenant, s.Environment, version, from, at)
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.Notify(ctx, pg.ChannelBackground, version)
}

const (
	templatesOfSubject = `select id, tenant_id, environment_id, subject_uid, modality, device_class, version, status, model_version,
		provisional, limitations, origin, origin_ref, data, created_at, updated_at
		from templates where tenant_id = $1 and environment_id = $2 and status = 'active' and subject_uid = $3` + templateOrder
	templateOrder = " order by modality, device_class"
	// TemplatesOfSession selects the active templates of the subject of a session.
	TemplatesOfSession = `select id, model_version, data from templates where tenant_id = $1 and environment_id = $2 and status = 'active'
		and subject_uid = (select subject_uid from sessions where tenant_id = $1 and environment_id = $2 and id = $3)` + templateOrder
)

// ActiveTemplate returns the active templates of a subject.
func ActiveTemplate(ctx context.Context, q *pg.Q, s pg.Scope, subjectUID string) ([]models.Template, error) {
	rows, err := q.Query(ctx, templatesOfSubject, s.Tenant, s.Environment, subjectUID)
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

// All returns every background that is or was active, oldest first.
func All(ctx context.Context, q *pg.Q) ([]models.Background, error) {
	var rows []models.Background
	err := q.Gorm(ctx).Order("activated_at, version").Find(&rows).Error
	return rows, err
}

// activateBackground activates a background in place of the active one of its modality and notifies every process. Concurrent
// activations wait for each other. A version that was active before can be activated again, with its stored body.
func activateBackground(ctx context.Context, q *pg.Q, b models.Background) error {
	if _, err := q.Exec(ctx, "select pg_advisory_xact_lock(hashtext('backgrounds'))"); err != nil {
		return err
	}
	if err := retireBackground(ctx, q, b.Modality, b.ActivatedAt); err != nil {
		return err
	}
	_, err := q.Exec(ctx, `insert into backgrounds (version, modality, status, body, digest, comparison, activated_by, activated_at)
		values ($1, $2, 'active', $3, $4, $5, $6, $7)
		on conflict (version) do update set status = 'active', comparison = excluded.comparison, activated_by = excluded.activated_by,
		activated_at = excluded.activated_at, retired_at = null`,
		b.Version, b.Modality, b.Body, b.Digest, b.Comparison, b.ActivatedBy, b.ActivatedAt)
	if err != nil {
		return err
	}
	return q.Notify(ctx, pg.ChannelBackground, b.Version)
}

// retireBackground deactivates the background of a modality. The background embedded in the binary applies again.
func retireBackground(ctx context.Context, q *pg.Q, modality string, at time.Time) error {
	if _, err := q.Exec(ctx, "update backgrounds set status = 'retired', retired_at = $2 where modality = $1 and status = 'active'", modality, at); err != nil {
		return err
	}
	return q.Notify(ctx, pg.ChannelBackground, "")
}
