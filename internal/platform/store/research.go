package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// Research stores the vectors of subjects who consented to research.
type Research struct{ *Q }

// Research returns the queries of the aggregate.
func (q *Q) Research() Research { return Research{q} }

// RecordConsent writes one entry of the consent ledger and the subject's present state, and reports whether that changed.
func (q Research) RecordConsent(ctx context.Context, s Scope, c models.ResearchConsent) (bool, error) {
	n, err := q.exec(ctx, `update subjects set research_consent = $4, updated_at = $5
		where tenant_id = $1 and environment_id = $2 and uid = $3 and research_consent <> $4`,
		s.Tenant, s.Environment, c.SubjectUID, c.Consented, c.RecordedAt)
	if err != nil {
		return false, err
	}
	_, err = q.exec(ctx, `insert into research_consents (id, environment_id, subject_uid, consented, recorded_at)
		values ($1, $2, $3, $4, $5)`, c.ID, c.EnvironmentID, c.SubjectUID, c.Consented, c.RecordedAt)
	return n == 1, err
}

// Period is the period of the environment that is under way; ErrNotFound where there is none, or where research is
// not switched on for the environment.
func (q Research) Period(ctx context.Context, environment string) (models.ResearchPeriod, error) {
	var row models.ResearchPeriod
	return one(row, q.gorm(ctx).Where(`environment_id = ? and ended_at is null
		and exists (select from environments e where e.id = environment_id and e.research_enabled)`, environment).Take(&row).Error)
}

// BeginPeriod begins a period in an environment where research is switched on and none is under way.
func (q Research) BeginPeriod(ctx context.Context, p models.ResearchPeriod) error {
	_, err := q.exec(ctx, `insert into research_periods (id, environment_id, salt, started_at)
		select $1, id, $3, $4 from environments where id = $2 and research_enabled
		on conflict (environment_id) where ended_at is null do nothing`, p.ID, p.EnvironmentID, p.Salt, p.StartedAt)
	return err
}

// EndPeriod ends a period and destroys its salt; false where that was done before.
func (q Research) EndPeriod(ctx context.Context, id string, at time.Time) (bool, error) {
	n, err := q.exec(ctx, "update research_periods set salt = null, ended_at = $2 where id = $1 and ended_at is null", id, at)
	return n == 1, err
}

// PeriodsSince are periods under way that began at or before t, with their tenants, at most limit of them.
func (q Research) PeriodsSince(ctx context.Context, t time.Time, limit int) ([]OwnedPeriod, error) {
	var rows []OwnedPeriod
	err := q.gorm(ctx).Raw(`select p.id, p.environment_id as environment, e.tenant_id as tenant from research_periods p
		join environments e on e.id = p.environment_id where p.ended_at is null and p.started_at <= ? order by p.started_at limit ?`, t, limit).
		Scan(&rows).Error
	return rows, err
}

// OwnedPeriod is a period and whose it is.
type OwnedPeriod struct {
	ID          string
	Tenant      string
	Environment string
}

// SaveVector keeps a vector if research is switched on for the environment and the subject's consent stands, and the
// sealed link that a withdrawal finds it by; it reports whether it did. The lock on the subject makes a withdrawal wait for
// the vector, and so remove it, or the vector see the withdrawal.
func (q Research) SaveVector(ctx context.Context, s Scope, subjectUID string, v models.ResearchVector, l models.ResearchLink) (bool, error) {
	n, err := q.exec(ctx, `with consenting as (
			select s.uid from subjects s join environments e on e.id = s.environment_id
			where s.tenant_id = $1 and s.environment_id = $2 and s.uid = $3 and s.research_consent and s.status = 'active'
			and e.research_enabled for share of s),
		link as (insert into research_links (environment_id, holder, period_id, pseudonym)
			select $2, $9, $8, $10 from consenting on conflict do nothing)
		insert into research_vectors (id, environment_id, pseudonym, device_class, vector, created_at, period_id)
		select $4, $2, $5, $6, $7, $11, $8 from consenting`,
		s.Tenant, s.Environment, subjectUID, v.ID, v.Pseudonym, v.DeviceClass, v.Vector, l.PeriodID, l.Holder, l.Pseudonym, v.CreatedAt)
	return n == 1, err
}

// Links are the links of whoever the keyed hashes stand for.
func (q Research) Links(ctx context.Context, environment string, holders [][]byte) ([]models.ResearchLink, error) {
	var rows []models.ResearchLink
	err := q.gorm(ctx).Where("environment_id = ? and holder in ?", environment, holders).Order("period_id").Find(&rows).Error
	return rows, err
}

// Forget removes the vectors kept under the pseudonyms, and the links of the holders. It answers how many vectors
// went.
func (q Research) Forget(ctx context.Context, environment string, holders, pseudonyms [][]byte) (int64, error) {
	tx := q.gorm(ctx).Exec("delete from research_links where environment_id = ? and holder in ?", environment, holders)
	if tx.Error != nil || len(pseudonyms) == 0 {
		return 0, tx.Error
	}
	tx = q.gorm(ctx).Exec("delete from research_vectors where environment_id = ? and pseudonym in ?", environment, pseudonyms)
	return tx.RowsAffected, tx.Error
}

// Switch turns research on or off for an environment and answers what it was before.
func (q Research) Switch(ctx context.Context, s Scope, on bool) (before bool, err error) {
	row := q.queryRow(ctx, `update environments e set research_enabled = $3 from (select id, research_enabled from environments
		where tenant_id = $1 and id = $2 for update) old where e.id = old.id returning old.research_enabled`, s.Tenant, s.Environment, on)
	return one(before, row.Scan(&before))
}

// EndPeriods ends the period of an environment that is under way, if there is one.
func (q Research) EndPeriods(ctx context.Context, environment string, at time.Time) error {
	_, err := q.exec(ctx, "update research_periods set salt = null, ended_at = $2 where environment_id = $1 and ended_at is null", environment, at)
	return err
}

// Clear removes every vector of an environment.
func (q Research) Clear(ctx context.Context, environment string) (int64, error) {
	if _, err := q.exec(ctx, "delete from research_links where environment_id = $1", environment); err != nil {
		return 0, err
	}
	return q.exec(ctx, "delete from research_vectors where environment_id = $1", environment)
}

// DropPeriods forgets periods that ended before t and of which no vector is left, with their links, at most limit of
// them.
func (q Research) DropPeriods(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, `delete from research_periods where id in (select p.id from research_periods p where p.ended_at < $1
		and not exists (select from research_vectors v where v.period_id = p.id) limit $2)`, t, limit)
}

// ResearchRange narrows what learning reads. Empty fields narrow nothing; From is included, Until is not.
type ResearchRange struct {
	Environment string
	From, Until time.Time
}

// ResearchSample is one vector for learning. Pseudonyms are the same for one person within one period and tell nothing
// across periods; there is no way from them to a subject.
type ResearchSample struct {
	Period      string
	Pseudonym   []byte
	DeviceClass string
	Vector      []byte // features.Frame in its binary form
}

// researchPage is how many vectors are read at once.
const researchPage = 1000

// Vectors hands every vector of the range to f, those of one pseudonym one after the other, until f fails. They are
// read in pages: what is withdrawn meanwhile is not handed over.
func (q Research) Vectors(ctx context.Context, r ResearchRange, f func(ResearchSample) error) error {
	last := researchRow{pseudonym: []byte{}}
	for {
		page, err := q.page(ctx, r, last)
		if err != nil {
			return err
		}
		for _, last = range page {
			if err := f(ResearchSample{last.period, last.pseudonym, last.device, last.vector}); err != nil {
				return err
			}
		}
		if len(page) < researchPage {
			return nil
		}
	}
}

// Counts tells how many vectors of the range each environment has.
func (q Research) Counts(ctx context.Context, r ResearchRange) ([]Counted, error) {
	var out []Counted
	err := q.gorm(ctx).Raw(`select e.tenant_id as tenant, e.id as environment, count(*) as rows from research_vectors v
		join environments e on e.id = v.environment_id where (@environment = '' or v.environment_id = @environment)
		and (cast(@since as timestamptz) is null or v.created_at >= @since) and (cast(@until as timestamptz) is null or v.created_at < @until)
		group by 1, 2 order by 2`, map[string]any{"environment": r.Environment, "since": orNull(r.From), "until": orNull(r.Until)}).Scan(&out).Error
	return out, err
}

type researchRow struct {
	id, period, device string
	pseudonym, vector  []byte
}

func (q Research) page(ctx context.Context, r ResearchRange, after researchRow) ([]researchRow, error) {
	rows, err := q.query(ctx, `select id, coalesce(period_id, ''), device_class, pseudonym, vector from research_vectors
		where (pseudonym, id) > ($1, $2) and ($3 = '' or environment_id = $3) and ($4::timestamptz is null or created_at >= $4)
		and ($5::timestamptz is null or created_at < $5) order by pseudonym, id limit $6`,
		after.pseudonym, after.id, r.Environment, orNull(r.From), orNull(r.Until), researchPage)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []researchRow
	for rows.Next() {
		var v researchRow
		if err := rows.Scan(&v.id, &v.period, &v.device, &v.pseudonym, &v.vector); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// orNull is null for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
