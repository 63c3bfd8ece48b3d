package lists

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// insertList adds a list. A name that the environment has already violates lists_environment_id_name_key.
func insertList(ctx context.Context, q *pg.Q, l models.List) error {
	return q.Gorm(ctx).Create(&l).Error
}

// Get returns one list of the environment.
func Get(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.List, error) {
	var l models.List
	return pg.OrNotFound(l, q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&l).Error)
}

// Lock returns one list of the environment and locks it until the transaction ends, so that its changes are made one at a time.
func Lock(ctx context.Context, q *pg.Q, s pg.Scope, id string) (models.List, error) {
	var l models.List
	return pg.OrNotFound(l, q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&l).Error)
}

// countLists returns the number of lists of the environment.
func countLists(ctx context.Context, q *pg.Q, s pg.Scope) (int64, error) {
	var n int64
	err := q.Gorm(ctx).Model(&models.List{}).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).Count(&n).Error
	return n, err
}

// byName returns the lists with the names.
func byName(ctx context.Context, q *pg.Q, s pg.Scope, names []string) ([]models.List, error) {
	var rows []models.List
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and name in ?", s.Tenant, s.Environment, names).Find(&rows).Error
	return rows, err
}

// shareByName is byName, and locks the lists against deletion until the transaction ends.
func shareByName(ctx context.Context, q *pg.Q, s pg.Scope, names []string) ([]models.List, error) {
	var rows []models.List
	err := q.Gorm(ctx).Clauses(clause.Locking{Strength: "KEY SHARE"}).
		Where("tenant_id = ? and environment_id = ? and name in ?", s.Tenant, s.Environment, names).Order("id").Find(&rows).Error
	return rows, err
}

// All returns the lists of the environment, for what decides nothing.
func All(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.List, error) {
	var rows []models.List
	err := pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).Order("name").Find(&rows).Error
	return rows, err
}

// lockPersonal locks and returns the personal lists of all environments in one order. A distributed server locks rows of one environment at a time.
func lockPersonal(ctx context.Context, q *pg.Q) (all []models.List, err error) {
	found, err := q.Query(ctx, "select distinct environment_id from lists where personal order by 1")
	if err != nil {
		return nil, err
	}
	environments, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for _, environment := range environments {
		var rows []models.List
		err := q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("environment_id = ? and personal", environment).Order("id").Find(&rows).Error
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// setSecret stores the secret of a locked list as it is sealed now.
func setSecret(ctx context.Context, q *pg.Q, l models.List, secret []byte) error {
	_, err := q.Exec(ctx, "update lists set secret = $3 where environment_id = $1 and id = $2", l.EnvironmentID, l.ID, secret)
	return err
}

// lockAll locks and returns all lists of the environment in one order.
func lockAll(ctx context.Context, q *pg.Q, s pg.Scope) ([]models.List, error) {
	var rows []models.List
	err := q.Gorm(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).
		Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment).Order("id").Find(&rows).Error
	return rows, err
}

// listLists lists the lists of the environment, newest first.
func listLists(ctx context.Context, q *pg.Q, s pg.Scope, p pg.Page) ([]models.List, string, error) {
	tx, err := pg.Paginate(pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and environment_id = ?", s.Tenant, s.Environment), p, "created_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.List
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(l models.List) (time.Time, string) { return l.CreatedAt, l.ID })
	return rows, next, nil
}

// listEntries lists the entries of a list that are searched for, newest first.
func listEntries(ctx context.Context, q *pg.Q, l models.List, f find, p pg.Page) ([]models.ListEntry, string, error) {
	tx := pg.Unchecked(q.Gorm(ctx)).Where("tenant_id = ? and environment_id = ? and list_id = ?", l.TenantID, l.EnvironmentID, l.ID)
	if f.keys != nil {
		tx = tx.Where("(key in ? or ? <> '' and strpos(key, ?) > 0)", f.keys, f.part, f.part)
	}
	tx, err := pg.Paginate(tx, p, "added_at", "id")
	if err != nil {
		return nil, "", err
	}
	var rows []models.ListEntry
	if err := tx.Find(&rows).Error; err != nil {
		return nil, "", err
	}
	rows, next := pg.CutPage(rows, p, func(e models.ListEntry) (time.Time, string) { return e.AddedAt, e.ID })
	return rows, next, nil
}

// EntriesByKey returns the entries of a list with the keys, in the order of their keys.
func EntriesByKey(ctx context.Context, q *pg.Q, s pg.Scope, list string, keys []string) ([]models.ListEntry, error) {
	var rows []models.ListEntry
	err := q.Gorm(ctx).Where("tenant_id = ? and environment_id = ? and list_id = ? and key in ?", s.Tenant, s.Environment, list, keys).Order("key").Find(&rows).Error
	return rows, err
}

// keysOf returns the keys of entries of a list.
func keysOf(ctx context.Context, q *pg.Q, l models.List, entries []string) ([]string, error) {
	var keys []string
	err := q.Gorm(ctx).Model(&models.ListEntry{}).Where("environment_id = ? and list_id = ? and id in ?", l.EnvironmentID, l.ID, entries).
		Pluck("key", &keys).Error
	return keys, err
}

// putEntries writes entries of a locked list, each in place of the one with its key.
func putEntries(ctx context.Context, q *pg.Q, entries []models.ListEntry) error {
	return q.Gorm(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "list_id"}, {Name: "environment_id"}, {Name: "key"}},
		DoUpdates: clause.AssignmentColumns([]string{"value", "reason", "expires_at", "added_at", "added_by", "salt", "row_mac"}),
	}).Create(&entries).Error
}

// removeEntries deletes the entries of a locked list with the keys, and some of those that have expired, and returns them.
func removeEntries(ctx context.Context, q *pg.Q, l models.List, keys []string, at time.Time) ([]models.ListEntry, error) {
	var rows []models.ListEntry
	err := pg.Unchecked(q.Gorm(ctx)).Raw(`delete from list_entries where environment_id = @environment and id in (select id from list_entries
			where environment_id = @environment and list_id = @list and (key = any (@keys) or expires_at <= @at) order by key = any (@keys) desc limit @limit)
		returning *`, map[string]any{"environment": l.EnvironmentID, "list": l.ID, "keys": models.Strings(keys), "at": at, "limit": 2 * MaxEdit}).Find(&rows).Error
	return rows, err
}

// forgetReasons replaces the reasons of entries that name an erased subject.
func forgetReasons(ctx context.Context, q *pg.Q, s pg.Scope, subject string) error {
	_, err := q.Exec(ctx, "update list_entries set reason = $4 where tenant_id = $1 and environment_id = $2 and reason ~ $3", s.Tenant, s.Environment, mention(subject), Forgotten)
	return err
}

// edited are the entries of a list that one change added and removed. One that was replaced is in both.
type edited struct{ added, removed []models.ListEntry }

// keepEdit stores what a change of the entries of a locked list makes of the list, and its secret unless it is nil.
func keepEdit(ctx context.Context, q *pg.Q, l models.List, e edited, secret []byte) (models.List, error) {
	sum, err := pg.AddToSetDigest(ctx, q, l.EntriesSum, e.added, e.removed)
	if err != nil {
		return l, err
	}
	changed, err := pg.Change[models.List](ctx, q, "environment_id = @environment and id = @id",
		"version = @version, entries = @entries, entries_sum = @sum, secret = coalesce(@secret, secret)", map[string]any{
			"environment": l.EnvironmentID, "id": l.ID, "version": l.Version, "entries": l.Entries + len(e.added) - len(e.removed), "sum": sum, "secret": secret,
		})
	if err != nil {
		return l, err
	}
	return changed[0], nil
}

// deleteList deletes a list with its entries.
func deleteList(ctx context.Context, q *pg.Q, l models.List) error {
	_, err := pg.Remove[models.List](ctx, q, "environment_id = ? and id = ?", l.EnvironmentID, l.ID)
	return err
}

// UsesOf returns the keys of the actions whose policy in force reads the list with the name.
func UsesOf(ctx context.Context, q *pg.Q, s pg.Scope, name string) ([]string, error) {
	rows, err := q.Query(ctx, `select a.key from policy_versions v join actions a on a.id = v.action_id and a.archived_at is null
		where v.tenant_id = $1 and v.environment_id = $2 and v.status = 'active' and $3 = any (v.lists) order by a.key`, s.Tenant, s.Environment, name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// QueueLookup adds the statement that looks up the questions of a decision: one index entry for each key. The batch fails if an entry that it
// finds was altered (pg.Altered). The list itself was checked with the policy that reads it.
func QueueLookup(ctx context.Context, q *pg.Q, b *pgx.Batch, s pg.Scope, l *Lookup, at time.Time) {
	if l.Empty() {
		return
	}
	b.Queue(`select w.list, w.key, l.version, coalesce(e.id, ''), e.expires_at, e.salt, e.row_mac from unnest($2::text[], $3::text[]) w(list, key)
		join lists l on l.environment_id = $1 and l.id = w.list
		left join list_entries e on e.environment_id = $1 and e.list_id = w.list and e.key = w.key`,
		s.Environment, l.lists, l.keys).Query(func(rows pgx.Rows) error {
		e := models.ListEntry{TenantID: s.Tenant, EnvironmentID: s.Environment}
		var version int
		_, err := pgx.ForEachRow(rows, []any{&e.ListID, &e.Key, &version, &e.ID, &e.ExpiresAt, &e.Salt, &e.RowMAC}, func() error {
			f, ok := l.found[e.ListID]
			if !ok {
				f = found{version: version, entries: map[string]string{}}
				l.found[e.ListID] = f
			}
			if e.ID == "" {
				return nil
			}
			if e.ExpiresAt == nil || e.ExpiresAt.After(at) {
				f.entries[e.Key] = e.ID
			}
			return pg.Verify(ctx, q, e)
		})
		return err
	})
}

// LookUp looks up the questions of many decisions in one round trip.
func LookUp(ctx context.Context, q *pg.Q, s pg.Scope, all []*Lookup, at time.Time) error {
	b := &pgx.Batch{}
	for _, l := range all {
		QueueLookup(ctx, q, b, s, l, at)
	}
	return q.Batch(ctx, b)
}

// withExpired returns at most limit lists that have entries that expired before t.
func withExpired(ctx context.Context, q *pg.Q, t time.Time, limit int) ([]models.List, error) {
	var rows []models.List
	err := pg.Unchecked(q.Gorm(ctx)).Raw(`select * from lists l where exists (select from list_entries e
		where e.environment_id = l.environment_id and e.list_id = l.id and e.expires_at < ?) limit ?`, t, limit).Find(&rows).Error
	return rows, err
}
