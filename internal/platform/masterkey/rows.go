package masterkey

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// ListKeys returns the master keys of this database, oldest first, retired ones too.
func ListKeys(ctx context.Context, q *pg.Q) ([]models.MasterKey, error) {
	var rows []models.MasterKey
	err := q.Gorm(ctx).Order("recorded_at, id").Find(&rows).Error
	return rows, err
}

// lockKey keeps other transactions from recording or retiring a master key until this one ends. They can still read.
func lockKey(ctx context.Context, q *pg.Q) error {
	_, err := q.Exec(ctx, "lock table master_keys in share row exclusive mode")
	return err
}

// RecordKey adds a master key, or puts a retired one back into use.
func RecordKey(ctx context.Context, q *pg.Q, k models.MasterKey) error {
	_, err := q.Exec(ctx, `insert into master_keys (id, fingerprint, recorded_at) values ($1, $2, $3)
		on conflict (id) do update set recorded_at = excluded.recorded_at, retired_at = null
		where master_keys.retired_at is not null and master_keys.fingerprint = excluded.fingerprint`, k.ID, k.Fingerprint, k.RecordedAt)
	return err
}

// retireKey marks a master key as no longer needed. It returns false if none with the id is in use.
func retireKey(ctx context.Context, q *pg.Q, id string, at time.Time) (bool, error) {
	n, err := q.Exec(ctx, "update master_keys set retired_at = $2 where id = $1 and retired_at is null", id, at)
	return n == 1, err
}

// sealedBy counts, by table, the values in use that a master key sealed (pg.Table.Sealed). Responses stored for idempotency are left out: they
// expire within a day. It reads whole tables, for an operator's command.
func sealedBy(ctx context.Context, q *pg.Q, id []byte) (map[string]int64, error) {
	if err := q.LimitStatements(ctx, 10*time.Minute); err != nil {
		return nil, err
	}
	found := map[string]int64{}
	for _, t := range pg.Tables() {
		for _, c := range t.Sealed {
			var n int64
			query := fmt.Sprintf("select count(*) from %s where %s and substring(%s from 2 for %d) = $1", t.Name, cmp.Or(c.While, "true"), c.Column, len(id))
			if err := q.QueryRow(ctx, query, id).Scan(&n); err != nil {
				return nil, err
			}
			if n > 0 {
				found[t.Name] += n
			}
		}
	}
	return found, nil
}

// credentialKeysBefore counts the API keys that were created before t and are valid at a time. The MAC of a key does not
// say which master key it was made with; its age does.
func credentialKeysBefore(ctx context.Context, q *pg.Q, t, at time.Time) (int64, error) {
	var n int64
	err := q.QueryRow(ctx, `select count(*) from credential_keys k join credentials c on c.id = k.credential_id
		where k.created_at < $1 and c.revoked_at is null and (k.expires_at is null or k.expires_at > $2)
		and (c.expires_at is null or c.expires_at > $2)`, t, at).Scan(&n)
	return n, err
}

// aliasesBefore counts the names of subjects that were stored before t, whose digests likewise do not say which master key made them.
func aliasesBefore(ctx context.Context, q *pg.Q, t time.Time) (int64, error) {
	var n int64
	err := q.QueryRow(ctx, "select count(*) from subject_aliases where created_at < $1", t).Scan(&n)
	return n, err
}

// anySigningKey reports whether the database has a signing key, which every environment has from its creation on.
func anySigningKey(ctx context.Context, q *pg.Q) (bool, error) {
	var found bool
	err := q.QueryRow(ctx, "select exists (select from signing_keys)").Scan(&found)
	return found, err
}
