package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Learned stores what environments learn from their enrolled people: sums, who is counted in them, and the backgrounds formed.
type Learned struct{ *Q }

// Learned returns the queries of the aggregate.
func (q *Q) Learned() Learned { return Learned{q} }

// Choice returns what the environment compares people with, and keeps it from changing until the transaction ends.
func (q Learned) Choice(ctx context.Context, s Scope) (models.BackgroundChoice, error) {
	var out models.BackgroundChoice
	err := q.queryRow(ctx, "select background from environments where tenant_id = $1 and id = $2 for share", s.Tenant, s.Environment).Scan(&out)
	return orNotFound(out, err)
}

// Shares returns in which modalities a subject is counted.
func (q Learned) Shares(ctx context.Context, s Scope, uid string) ([]models.BackgroundShare, error) {
	var rows []models.BackgroundShare
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ?", s.Tenant, s.Environment, uid).Find(&rows).Error
	return rows, err
}

// SaveShare stores that a subject is counted, or that its template cannot be.
func (q Learned) SaveShare(ctx context.Context, row models.BackgroundShare) error {
	_, err := q.exec(ctx, `insert into background_shares (subject_uid, modality, environment_id, tenant_id, digest, counted_at)
		values ($1, $2, $3, $4, $5, $6) on conflict on constraint background_shares_pkey do update set digest = excluded.digest, counted_at = excluded.counted_at
		where background_shares.environment_id = $3 and background_shares.tenant_id = $4`,
		row.SubjectUID, row.Modality, row.EnvironmentID, row.TenantID, row.Digest, row.CountedAt)
	return err
}

// DropShare deletes the record of a subject that is counted no more.
func (q Learned) DropShare(ctx context.Context, s Scope, uid, modality string) error {
	_, err := q.exec(ctx, "delete from background_shares where tenant_id = $1 and environment_id = $2 and subject_uid = $3 and modality = $4",
		s.Tenant, s.Environment, uid, modality)
	return err
}

// LockSums returns the sums of a modality for a change; without a row they have no people. Concurrent changes wait for each other.
func (q Learned) LockSums(ctx context.Context, s Scope, modality string) (models.BackgroundSums, error) {
	if _, err := q.exec(ctx, "select pg_advisory_xact_lock(hashtextextended('background_sums ' || $1 || ' ' || $2, 0))", s.Environment, modality); err != nil {
		return models.BackgroundSums{}, err
	}
	out := models.BackgroundSums{EnvironmentID: s.Environment, TenantID: s.Tenant, Modality: modality}
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and modality = ?", s.Tenant, s.Environment, modality).Limit(1).Find(&out).Error
	return out, err
}

// SaveSums stores sums that LockSums returned.
func (q Learned) SaveSums(ctx context.Context, row models.BackgroundSums) error {
	_, err := q.exec(ctx, `insert into background_sums (environment_id, tenant_id, modality, people, changes, sums, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7) on conflict (environment_id, modality) do update set people = excluded.people, changes = excluded.changes,
		sums = excluded.sums, updated_at = excluded.updated_at where background_sums.tenant_id = $2`,
		row.EnvironmentID, row.TenantID, row.Modality, row.People, row.Changes, row.Sums, row.UpdatedAt)
	return err
}

// Reset deletes the sums of a modality and who is counted in them, so that all people are counted anew.
func (q Learned) Reset(ctx context.Context, s Scope, modality string) error {
	for _, table := range []string{"background_shares", "background_sums"} {
		if _, err := q.exec(ctx, "delete from "+table+" where tenant_id = $1 and environment_id = $2 and modality = $3", s.Tenant, s.Environment, modality); err != nil {
			return err
		}
	}
	return nil
}

// Sums returns the sums of the modality that an environment learns from: its own or, if it shares, those of every environment of its kind
// that does.
func (q Learned) Sums(ctx context.Context, s Scope, modality string, source models.BackgroundChoice) ([]models.BackgroundSums, error) {
	var rows []models.BackgroundSums
	tx := q.gorm(ctx).Where("modality = ?", modality)
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
const countable = `select t.subject_uid from templates t join subjects s on s.uid = t.subject_uid and s.environment_id = t.environment_id and s.status = 'active'
	where t.tenant_id = $1 and t.environment_id = $2 and t.modality = $3 and t.status = 'active' and t.device_class = 'desktop' and `

// Uncounted returns at most limit subjects whose template was not looked at yet.
func (q Learned) Uncounted(ctx context.Context, s Scope, modality string, limit int) ([]string, error) {
	return q.uids(ctx, countable+`not exists (select from background_shares c where c.environment_id = t.environment_id and c.subject_uid = t.subject_uid and c.modality = $3)
		order by t.subject_uid limit $4`, s.Tenant, s.Environment, modality, limit)
}

// Sampling selects counted subjects.
type Sampling struct {
	Modality string
	Since    time.Time // only those counted later
	Seed     string    // the same subjects for the same seed
	Limit    int
}

// Sample returns a sample of the counted subjects.
func (q Learned) Sample(ctx context.Context, s Scope, by Sampling) ([]string, error) {
	return q.uids(ctx, countable+`exists (select from background_shares c where c.environment_id = t.environment_id and c.subject_uid = t.subject_uid and c.modality = $3
		and c.digest is not null and c.counted_at > $6) order by md5($4 || t.subject_uid) limit $5`,
		s.Tenant, s.Environment, by.Modality, by.Seed, by.Limit, by.Since)
}

func (q Learned) uids(ctx context.Context, query string, args ...any) ([]string, error) {
	var out []string
	rows, err := q.query(ctx, query, args...)
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

// Versions returns a subject's templates of a modality on a desktop with their data, newest first: at most limit, of any status.
func (q Learned) Versions(ctx context.Context, s Scope, uid, modality string, limit int) ([]models.Template, error) {
	var rows []models.Template
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and subject_uid = ? and modality = ? and device_class = 'desktop'",
		s.Tenant, s.Environment, uid, modality).Order("version desc").Limit(limit).Find(&rows).Error
	return rows, err
}

// Learning returns the environments that learn from their people, oldest first.
func (q Learned) Learning(ctx context.Context) ([]models.Environment, error) {
	var rows []models.Environment
	err := q.gorm(ctx).Where("background <> 'prior'").Order("created_at, id").Find(&rows).Error
	return rows, err
}

// Backgrounds returns the backgrounds that an environment learned, newest first.
func (q Learned) Backgrounds(ctx context.Context, s Scope) ([]models.EnvironmentBackground, error) {
	var rows []models.EnvironmentBackground
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).Order("modality, number desc").Find(&rows).Error
	return rows, err
}

// InUse returns the backgrounds that processes load: those in force and those that a template was trained with which is active or may be again.
func (q Learned) InUse(ctx context.Context) ([]models.EnvironmentBackground, error) {
	var rows []models.EnvironmentBackground
	err := q.gorm(ctx).Where(`status = 'active' or status = 'retired' and exists (select from templates t
		where t.environment_id = environment_backgrounds.environment_id and t.modality = environment_backgrounds.modality
		and t.model_version = environment_backgrounds.version and t.status <> 'retired')`).Order("environment_id, number").Find(&rows).Error
	return rows, err
}

// Insert stores a compared background. It returns false if the environment has one of the same number.
func (q Learned) Insert(ctx context.Context, b models.EnvironmentBackground) (bool, error) {
	n, err := q.exec(ctx, `insert into environment_backgrounds (version, environment_id, tenant_id, modality, number, status, source, people, changes, body,
		comparison, made_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict do nothing`,
		b.Version, b.EnvironmentID, b.TenantID, b.Modality, b.Number, b.Status, b.Source, b.People, b.Changes, b.Body, b.Comparison, b.MadeAt)
	return n == 1, err
}

// Retire takes the background of a modality out of force and notifies every process. It returns its version, or ErrNotFound if none is in
// force.
func (q Learned) Retire(ctx context.Context, s Scope, modality string, at time.Time) (string, error) {
	var version string
	err := q.queryRow(ctx, `update environment_backgrounds set status = 'retired', retired_at = $4
		where tenant_id = $1 and environment_id = $2 and modality = $3 and status = 'active' returning version`, s.Tenant, s.Environment, modality, at).Scan(&version)
	if version, err = orNotFound(version, err); err != nil {
		return "", err
	}
	return version, q.Notify(ctx, ChannelBackground, version)
}

// Activate puts a background with the status from in force, if the modality has none, and notifies every process. It returns false if it
// does not have that status.
func (q Learned) Activate(ctx context.Context, s Scope, version string, from models.BackgroundStatus, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update environment_backgrounds set status = 'active', activated_at = $5, retired_at = null
		where tenant_id = $1 and environment_id = $2 and version = $3 and status = $4`, s.Tenant, s.Environment, version, from, at)
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.Notify(ctx, ChannelBackground, version)
}
