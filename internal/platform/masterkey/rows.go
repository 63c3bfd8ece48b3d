package masterkey

import (
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

// sealedColumns are the columns with values sealed by internal/platform/keyring. Responses stored for idempotency are
// left out: they expire within a day.
var sealedColumns = []struct{ table, column, where string }{
	{"signing_keys", "sealed", "status <> 'retired'"},
	{"webhook_secrets", "sealed", "true"},
	{"templates", "data", "true"},
	{"background_sums", "sums", "true"},
	{"subjects", "timing_template", "true"},
	{"typed_passages", "passages", "true"},
	{"shown_details", "details", "true"},
	{"kept_values", "kept", "true"},
	{"review_notes", "note", "true"},
	{"given_reviews", "note", "note is not null"},
	{"lists", "secret", "secret is not null"},
	{"proofs", "sealed", "true"}, // expired ones too: a repeated request returns its stored response
	{"sessions", "state", "status = 'active'"},
	{"research_periods", "salt", "true"},
	{"research_links", "pseudonym", "true"},
	{"identity_providers", "client_secret", "client_secret is not null"},
	{"person_addresses", "address", "true"},
	{"chat_addresses", "url", "url is not null"},
}

// sealedBy counts, by table, the rows in use that a master key sealed. It reads whole tables, for an operator's command.
func sealedBy(ctx context.Context, q *pg.Q, id []byte) (map[string]int64, error) {
	if _, err := q.Exec(ctx, "set local statement_timeout = '10min'"); err != nil {
		return nil, err
	}
	found := map[string]int64{}
	for _, c := range sealedColumns {
		var n int64
		query := fmt.Sprintf("select count(*) from %s where %s and substring(%s from 2 for %d) = $1", c.table, c.where, c.column, len(id))
		if err := q.QueryRow(ctx, query, id).Scan(&n); err != nil {
			return nil, err
		}
		if n > 0 {
			found[c.table] = n
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

// anySigningKey reports whether the database has a signing key, which every environment has from its creation on.
func anySigningKey(ctx context.Context, q *pg.Q) (bool, error) {
	var found bool
	err := q.QueryRow(ctx, "select exists (select from signing_keys)").Scan(&found)
	return found, err
}
