package signal

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// addSignal inserts an event. It returns false if the token was received before.
func addSignal(ctx context.Context, q *pg.Q, row models.Signal) (bool, error) {
	res := q.Gorm(ctx).Clauses(clause.OnConflict{
		Columns: []clause.Column{{Name: "environment_id"}, {Name: "stream_id"}, {Name: "token"}, {Name: "place"}}, DoNothing: true,
	}).Create(&row)
	return res.RowsAffected == 1, res.Error
}

// newestSignals returns the newest events of a stream.
func newestSignals(ctx context.Context, q *pg.Q, s pg.Scope, stream string, limit int) ([]Received, error) {
	var rows []Received
	err := q.Gorm(ctx).Raw(`select x.*, coalesce(s.external_id, '') as subject from signals x
		left`+subjectrow.Join("x")+" and "+subjectrow.NotErasing+`
		where x.tenant_id = ? and x.environment_id = ? and x.stream_id = ? order by x.received_at desc, x.id desc limit ?`, s.Tenant, s.Environment, stream, limit).Find(&rows).Error
	return rows, err
}

// getStream returns a stream by name; lock locks the row until the transaction ends.
func getStream(ctx context.Context, q *pg.Q, s pg.Scope, name string, lock bool) (models.SignalStream, error) {
	var row models.SignalStream
	tx := q.Gorm(ctx).Where(pg.InScope+" and name = ?", s.Tenant, s.Environment, name)
	if lock {
		tx = tx.Clauses(clause.Locking{Strength: "UPDATE"})
	}
	return pg.OrNotFound(row, tx.Take(&row).Error)
}

func listStreams(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.SignalStream, error) {
	var rows []models.SignalStream
	err := pg.Unchecked(q.Gorm(ctx)).Where(pg.InScope, s.Tenant, s.Environment).Order("name").Find(&rows).Error
	return rows, err
}

func createStream(ctx context.Context, q *pg.Q, row models.SignalStream) error {
	return q.Gorm(ctx).Create(&row).Error
}

func changeStream(ctx context.Context, q *pg.Q, row models.SignalStream) error {
	_, err := pg.Change[models.SignalStream](ctx, q, "tenant_id = @TenantID and environment_id = @EnvironmentID and id = @ID",
		`issuer = @Issuer, audience = @Audience, keys_url = @KeysURL, keys = @Keys, poll_url = @PollURL, effects = @Effects, push_mac = @PushMAC,
		poll_token = @PollToken, updated_at = `+pg.After("@UpdatedAt", "updated_at"), row)
	return err
}

// removeStream deletes a stream and returns it, or ErrNotFound.
func removeStream(ctx context.Context, q *pg.Q, s pg.Scope, name string) (models.SignalStream, error) {
	removed, err := pg.Remove[models.SignalStream](ctx, q, "tenant_id = ? and environment_id = ? and name = ?", s.Tenant, s.Environment, name)
	if err != nil || len(removed) == 0 {
		return pg.OrNotFound(models.SignalStream{}, orMissing(err))
	}
	return removed[0], nil
}

func orMissing(err error) error {
	if err == nil {
		return pg.ErrNotFound
	}
	return err
}

// streamByMAC returns the stream with one of the MACs of a push token.
func streamByMAC(ctx context.Context, q *pg.Q, macs [][]byte) (models.SignalStream, error) {
	var row models.SignalStream
	return pg.OrNotFound(row, q.Gorm(ctx).Where("push_mac in ?", macs).Take(&row).Error)
}

// notice has the part of a stream that operators see.
type notice struct {
	at     time.Time
	status string  // as the issuer says; empty for as before
	fault  *string // why the last token was refused; nil if it was taken
}

func noteStream(ctx context.Context, q *pg.Q, of models.SignalStream, n notice) error {
	_, err := q.Exec(ctx, `update signal_streams set received_at = case when $6::text is null then $4 else received_at end, status = coalesce(nullif($5, ''), status), last_error = $6
		where tenant_id = $1 and environment_id = $2 and id = $3`, of.TenantID, of.EnvironmentID, of.ID, n.at, n.status, n.fault)
	return err
}

// claimPolls returns the streams of all environments whose events are to be polled, and marks them as polled at a time. No other process polls them
// within the interval.
func claimPolls(ctx context.Context, q *pg.Q, at time.Time, every time.Duration) ([]string, error) {
	const due = "poll_url is not null and poll_token is not null and (polled_at is null or polled_at <= @before)"
	args := map[string]any{"at": at, "before": at.Add(-every)}
	// Looked up first: on a distributed server every server has a copy of the table, and an UPDATE locks all of them, also one that changes no row.
	var ids []string
	if err := q.Gorm(ctx).Raw("select id from signal_streams where "+due, args).Find(&ids).Error; err != nil || len(ids) == 0 {
		return nil, err
	}
	args["ids"], ids = ids, nil
	err := q.Gorm(ctx).Raw("update signal_streams set polled_at = @at where id in @ids and "+due+" returning id", args).Find(&ids).Error
	return ids, err
}

func streamByID(ctx context.Context, q *pg.Q, id string) (models.SignalStream, error) {
	var row models.SignalStream
	return pg.OrNotFound(row, q.Gorm(ctx).Where("id = ?", id).Take(&row).Error)
}
