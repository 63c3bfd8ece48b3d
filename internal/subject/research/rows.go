package research

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// RecordConsent adds an entry to the consent ledger, sets the subject's present consent and reports whether that changed.
func RecordConsent(ctx context.Context, q *pg.Q, s pg.Scope, c models.ResearchConsent) (bool, error) {
	changed, err := subjectrow.Change(ctx, q, subjectrow.Of{Scope: s, UID: c.SubjectUID, At: c.RecordedAt, To: c.Consented}, "research_consent <> @to", "research_consent = @to")
	if err != nil {
		return false, err
	}
	_, err = q.Exec(ctx, `insert into research_consents (id, environment_id, subject_uid, consented, recorded_at)
		values ($1, $2, $3, $4, $5)`, c.ID, c.EnvironmentID, c.SubjectUID, c.Consented, c.RecordedAt)
	return changed, err
}

// currentPeriod returns the current period of the environment, or ErrNotFound if there is none or research is disabled.
func currentPeriod(ctx context.Context, q *pg.Q, environment string) (models.ResearchPeriod, error) {
	var row models.ResearchPeriod
	return pg.OrNotFound(row, q.Gorm(ctx).Where(`environment_id = ? and ended_at is null
		and exists (select from environments e where e.id = environment_id and e.research_enabled)`, environment).Take(&row).Error)
}

// beginPeriod begins a period, unless research is disabled in the environment or one is current.
func beginPeriod(ctx context.Context, q *pg.Q, p models.ResearchPeriod) error {
	_, err := q.Exec(ctx, `insert into research_periods (id, environment_id, salt, started_at)
		select $1, id, $3, $4 from environments where id = $2 and research_enabled
		on conflict (environment_id) where ended_at is null do nothing`, p.ID, p.EnvironmentID, p.Salt, p.StartedAt)
	return err
}

// endPeriod ends a period and destroys its salt, after which no pseudonym of it can be computed again. It returns false
// if it had ended.
func endPeriod(ctx context.Context, q *pg.Q, id string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, "update research_periods set salt = null, ended_at = $2 where id = $1 and ended_at is null", id, at)
	return n == 1, err
}

// currentPeriodsBefore returns at most limit current periods of any environment that began at or before t.
func currentPeriodsBefore(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]CurrentPeriod, error) {
	var rows []CurrentPeriod
	err := q.Gorm(ctx).Raw(`select p.id, p.environment_id as environment, e.tenant_id as tenant from research_periods p
		join environments e on e.id = p.environment_id where p.ended_at is null and p.started_at <= ? order by p.started_at limit ?`, t, limit).
		Find(&rows).Error
	return rows, err
}

// CurrentPeriod is a current period with its tenant and environment.
type CurrentPeriod struct {
	ID          string
	Tenant      string
	Environment string
}

// saveVector stores a vector, and the sealed link by which a withdrawal finds it, and reports whether it did. It does not
// unless research is enabled and the subject consents. The lock on the subject orders it with a withdrawal: either the
// withdrawal waits and deletes the vector, or SaveVector sees the withdrawal.
func saveVector(ctx context.Context, q *pg.Q, s pg.Scope, subjectUID string, v models.ResearchVector, l models.ResearchLink) (bool, error) {
	n, err := q.Exec(ctx, `with consenting as `+subjectrow.UIDOf(subjectrow.ByUID+` and s.research_consent and s.status = 'active'
			and exists (select from environments e where e.id = $2 and e.research_enabled) for share`)+`,
		link as (insert into research_links (environment_id, holder, period_id, pseudonym)
			select $2, $9, $8, $10 from consenting on conflict do nothing)
		insert into research_vectors (id, environment_id, pseudonym, device_class, vector, created_at, period_id)
		select $4, $2, $5, $6, $7, $11, $8 from consenting`,
		s.Tenant, s.Environment, subjectUID, v.ID, v.Pseudonym, v.DeviceClass, v.Vector, l.PeriodID, l.Holder, l.Pseudonym, v.CreatedAt)
	return n == 1, err
}

// linksOfSubject returns the links of the holders, which are keyed hashes of subjects.
func linksOfSubject(ctx context.Context, q *pg.Q, environment string, holders [][]byte) ([]models.ResearchLink, error) {
	var rows []models.ResearchLink
	err := q.Gorm(ctx).Where("environment_id = ? and holder in ?", environment, holders).Order("period_id").Find(&rows).Error
	return rows, err
}

// deleteVectors deletes the links of the holders and the vectors under the pseudonyms, and returns the number of vectors.
func deleteVectors(ctx context.Context, q *pg.Q, environment string, holders, pseudonyms [][]byte) (int64, error) {
	tx := q.Gorm(ctx).Exec("delete from research_links where environment_id = ? and holder in ?", environment, holders)
	if tx.Error != nil || len(pseudonyms) == 0 {
		return 0, tx.Error
	}
	tx = q.Gorm(ctx).Exec("delete from research_vectors where environment_id = ? and pseudonym in ?", environment, pseudonyms)
	return tx.RowsAffected, tx.Error
}

// setResearchEnabled enables or disables research for an environment and returns the previous setting.
func setResearchEnabled(ctx context.Context, q *pg.Q, s pg.Scope, on bool) (before bool, err error) {
	env, err := tenancy.GetEnvironment(ctx, q, s)
	if err != nil {
		return false, err
	}
	changed, err := pg.Change[models.Environment](ctx, q, "tenant_id = @tenant and id = @id and research_enabled <> @on", "research_enabled = @on",
		map[string]any{"tenant": s.Tenant, "id": s.Environment, "on": on})
	if len(changed) == 1 {
		return !on, err
	}
	return env.ResearchEnabled, err
}

// endPeriods ends the current period of an environment, if there is one.
func endPeriods(ctx context.Context, q *pg.Q, environment string, at time.Time) error {
	_, err := q.Exec(ctx, "update research_periods set salt = null, ended_at = $2 where environment_id = $1 and ended_at is null", environment, at)
	return err
}

// deleteAll deletes every link and vector of an environment and returns the number of vectors.
func deleteAll(ctx context.Context, q *pg.Q, environment string) (int64, error) {
	if _, err := q.Exec(ctx, "delete from research_links where environment_id = $1", environment); err != nil {
		return 0, err
	}
	return q.Exec(ctx, "delete from research_vectors where environment_id = $1", environment)
}

// DropPeriods deletes at most limit periods that ended before t and have no vector left, with their links.
func DropPeriods(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	var ended []models.ResearchPeriod
	if err := q.Gorm(ctx).Where("ended_at < ?", t).Find(&ended).Error; err != nil {
		return 0, err
	}
	var empty []string
	for _, p := range ended {
		if len(empty) == limit {
			break
		}
		var left bool
		if err := q.QueryRow(ctx, "select exists (select from research_vectors where environment_id = $1 and period_id = $2)", p.EnvironmentID, p.ID).Scan(&left); err != nil {
			return 0, err
		}
		if !left {
			empty = append(empty, p.ID)
		}
	}
	return q.Exec(ctx, "delete from research_periods where id = any($1)", empty)
}

// Range selects vectors for training. Empty fields select all; From is inclusive, Until is exclusive.
type Range struct {
	Environment string
	From, Until time.Time
}

// Sample is one vector for training. A pseudonym stands for one person within one period. Pseudonyms of different
// periods cannot be linked with each other or with a subject.
type Sample struct {
	Period      string
	Pseudonym   []byte
	DeviceClass string
	Vector      []byte // features.Frame in its binary form
}

// researchPage is the number of vectors that one statement reads.
const researchPage = 1000

// ListVectors passes every vector of the range to f, grouped by pseudonym, until f returns an error. It reads pages, so that
// a vector that is withdrawn meanwhile is not passed.
func ListVectors(ctx context.Context, q *pg.Q, r Range, f func(Sample) error) error {
	last := researchRow{pseudonym: []byte{}}
	for {
		page, err := vectorPage(ctx, q, r, last)
		if err != nil {
			return err
		}
		for _, last = range page {
			if err := f(Sample{last.period, last.pseudonym, last.device, last.vector}); err != nil {
				return err
			}
		}
		if len(page) < researchPage {
			return nil
		}
	}
}

func countVectors(ctx context.Context, q *pg.Q, r Range) ([]EnvironmentCount, error) {
	var out []EnvironmentCount
	err := q.Gorm(ctx).Raw(`select e.tenant_id as tenant, e.id as environment, count(*) as rows from research_vectors v
		join environments e on e.id = v.environment_id where (@environment = '' or v.environment_id = @environment)
		and (cast(@since as timestamptz) is null or v.created_at >= @since) and (cast(@until as timestamptz) is null or v.created_at < @until)
		group by 1, 2 order by 2`, map[string]any{"environment": r.Environment, "since": orNull(r.From), "until": orNull(r.Until)}).Find(&out).Error
	return out, err
}

type researchRow struct {
	id, period, device string
	pseudonym, vector  []byte
}

func vectorPage(ctx context.Context, q *pg.Q, r Range, after researchRow) ([]researchRow, error) {
	rows, err := q.Query(ctx, `select id, coalesce(period_id, ''), device_class, pseudonym, vector from research_vectors
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

// orNull returns nil, which is null in SQL, for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// EnvironmentCount is a number of rows of one environment.
type EnvironmentCount struct {
	Tenant      string
	Environment string
	Rows        int64
}
