package destination

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// getDestination returns a destination by name; lock locks the row until the transaction ends.
func getDestination(ctx context.Context, q *pg.Q, s pg.Scope, name string, lock bool) (models.ExportDestination, error) {
	var row models.ExportDestination
	tx := q.Gorm(ctx).Where(pg.InScope+" and name = ?", s.Tenant, s.Environment, name)
	if lock {
		tx = tx.Clauses(clause.Locking{Strength: "UPDATE"})
	}
	return pg.OrNotFound(row, tx.Take(&row).Error)
}

func listDestinations(ctx context.Context, q *pg.Q, s pg.Scope) ([]Destination, error) {
	var rows []Destination
	err := q.Gorm(ctx).Raw(`select d.*, greatest(coalesce(h.seq, 0) - d.position, 0) as behind, l.sealed_at as oldest
		from export_destinations d left join audit_heads h on h.environment_id = @environment
		left join lateral (select c.sealed_at from audit_chain c where c.environment_id = @environment and c.seq > d.position order by c.seq limit 1) l on true
		where d.tenant_id = @tenant and d.environment_id = @environment order by d.name`,
		map[string]any{"tenant": s.Tenant, "environment": s.Environment}).Find(&rows).Error
	return rows, err
}

func createDestination(ctx context.Context, q *pg.Q, row models.ExportDestination) error {
	return q.Gorm(ctx).Create(&row).Error
}

func changeDestination(ctx context.Context, q *pg.Q, row models.ExportDestination) error {
	_, err := pg.Change[models.ExportDestination](ctx, q, "tenant_id = @TenantID and environment_id = @EnvironmentID and id = @ID",
		`kind = @Kind, url = @URL, encoding = @Encoding, header = @Header, ca = @CA, since = @Since, credentials = @Credentials, updated_at = @UpdatedAt,
		next_attempt_at = @NextAttemptAt`, row)
	return err
}

// removeDestination deletes a destination and returns it, or ErrNotFound.
func removeDestination(ctx context.Context, q *pg.Q, s pg.Scope, name string) (models.ExportDestination, error) {
	removed, err := pg.Remove[models.ExportDestination](ctx, q, "tenant_id = ? and environment_id = ? and name = ?", s.Tenant, s.Environment, name)
	switch {
	case err != nil:
		return models.ExportDestination{}, err
	case len(removed) == 0:
		return models.ExportDestination{}, pg.ErrNotFound
	}
	return removed[0], nil
}

// claimed is a destination that this process sends to, until its reservation ends.
type claimed struct{ ID, EnvironmentID string }

// claimDue reserves at most limit destinations of all environments that are behind and due, those first that have waited longest. No other process sends to
// them until the reservation ends. A time that is later than any was set by a clock that was ahead.
func claimDue(ctx context.Context, q *pg.Q, now time.Time, process string, limit int) ([]claimed, error) {
	var out []claimed
	err := q.Gorm(ctx).Raw(`update export_destinations set reserved_by = @process, reserved_until = @until where (id, environment_id) in (
			select d.id, d.environment_id from export_destinations d join audit_heads h on h.environment_id = d.environment_id
			where h.seq > d.position and d.next_attempt_at not between @after and @latest and (d.reserved_until is null or d.reserved_until not between @after and @longest)
			order by coalesce(d.sent_at, d.created_at) limit @limit)
		and (reserved_until is null or reserved_until not between @after and @longest) returning id, environment_id`,
		map[string]any{"process": process, "until": now.Add(reservedFor), "longest": now.Add(2 * reservedFor), "after": now.Add(time.Microsecond), "latest": now.Add(longestWait), "limit": limit}).Find(&out).Error
	return out, err
}

// reserved returns a destination that this process has reserved, or ErrNotFound.
func reserved(ctx context.Context, q *pg.Q, c claimed, process string) (models.ExportDestination, error) {
	var row models.ExportDestination
	return pg.OrNotFound(row, q.Gorm(ctx).Where("environment_id = ? and id = ? and reserved_by = ?", c.EnvironmentID, c.ID, process).Take(&row).Error)
}

// confirm stores the number of the last entry that the receiver confirmed and renews the reservation. It returns false if the process has none any more, or
// the settings have changed since they were read.
func confirm(ctx context.Context, q *pg.Q, row models.ExportDestination, position int64, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, `update export_destinations set position = greatest(position, $4), sent_at = $5, reserved_until = $6, failures = 0, failing_since = null, last_error = null
		where environment_id = $1 and id = $2 and reserved_by = $3 and updated_at = $7`, row.EnvironmentID, row.ID, row.ReservedBy, position, at, at.Add(reservedFor), row.UpdatedAt)
	return n > 0, err
}

// putOff stores why a batch could not be sent, and when to try again, unless the settings have changed since they were read.
func putOff(ctx context.Context, q *pg.Q, row models.ExportDestination, at, next time.Time, fault string) error {
	_, err := q.Exec(ctx, `update export_destinations set failures = failures + 1, failing_since = coalesce(failing_since, $4), next_attempt_at = $5, last_error = $6
		where environment_id = $1 and id = $2 and reserved_by = $3 and updated_at = $7`, row.EnvironmentID, row.ID, row.ReservedBy, at, next, fault, row.UpdatedAt)
	return err
}

// release ends a reservation.
func release(ctx context.Context, q *pg.Q, c claimed, process string) error {
	_, err := q.Exec(ctx, "update export_destinations set reserved_by = null, reserved_until = null where environment_id = $1 and id = $2 and reserved_by = $3", c.EnvironmentID, c.ID, process)
	return err
}
