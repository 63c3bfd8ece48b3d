package standing

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

func createLink(ctx context.Context, q *pg.Q, l models.StandingLink) error {
	return q.Gorm(ctx).Create(&l).Error
}

// linkByMAC returns a link that has not expired at the time; the zero time finds expired links too. The caller passes the MACs of the ticket under each
// key of the keyring, and has nothing else: there is no scope.
func linkByMAC(ctx context.Context, q *pg.Q, macs [][]byte, at time.Time) (models.StandingLink, error) {
	var l models.StandingLink
	return pg.OrNotFound(l, q.Gorm(ctx).Where("mac in ? and expires_at > ?", macs, at).Take(&l).Error)
}

// openLink stores the browser that opened a link, and replaces the random bytes that were signed. It returns false if the link was opened meanwhile, or
// has ended.
func openLink(ctx context.Context, q *pg.Q, l models.StandingLink, passkey string, opened []byte, at time.Time) (bool, error) {
	rows, err := q.Exec(ctx, `update standing_links set passkey_id = $4, opened = $5, random = $6
		where environment_id = $1 and mac = $2 and random = $3 and failures < $7 and expires_at > $8`,
		l.EnvironmentID, l.MAC, l.Random, passkey, opened, challenge.RandomBytes(), challenge.MaxFailures, at)
	return rows == 1, err
}

// refuseLink counts a refused attempt to open a link and returns how many there are; 0 if the link has ended.
func refuseLink(ctx context.Context, q *pg.Q, l models.StandingLink, at time.Time) (failures int, err error) {
	err = q.QueryRow(ctx, `update standing_links set failures = failures + 1
		where environment_id = $1 and mac = $2 and failures < $3 and expires_at > $4 returning failures`,
		l.EnvironmentID, l.MAC, challenge.MaxFailures, at).Scan(&failures)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return failures, err
}

// DropLinks deletes at most limit links that expired before t.
func DropLinks(ctx context.Context, q *pg.Q, t time.Time, limit int) (int64, error) {
	return q.Exec(ctx, `delete from standing_links where (mac, environment_id) in (select mac, environment_id from standing_links where expires_at < $1 limit $2)`, t, limit)
}
