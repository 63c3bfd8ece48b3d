package masterkey

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Retirement takes one master key out of use.
type Retirement struct {
	Store *pg.Store
	Keys  *keyring.Keyring
	ID    string
	// Lost retires the key although values are still sealed by it, which can no longer be read afterwards.
	Lost bool
	Now  time.Time
	// Reseal seals by the active key what would otherwise keep the key in use for ever. It is undone if anything else still needs the key.
	Reseal func(ctx context.Context, q *pg.Q) error
}

// Retire marks a master key as no longer needed: processes then start without it. The caller must hold every other key of the
// database, so that a process with a wrong key cannot retire the right one, and no stored value may still need the key.
func Retire(ctx context.Context, r Retirement) error {
	if id, err := hex.DecodeString(r.ID); err == nil && !r.Lost && r.ID != r.Keys.ActiveID() {
		if err := pg.RenewLargeMACs(ctx, r.Store, id); err != nil {
			return err
		}
	}
	if !r.Lost {
		if err := r.Store.Write(ctx, func(q *pg.Q) error { return r.released(ctx, q) }); err != nil {
			return err
		}
	}
	// A transaction of its own: the rows that it renews are not locked while large tables are searched for sealed values.
	return r.Store.Write(ctx, func(q *pg.Q) error {
		if _, err := r.locked(ctx, q); err != nil {
			return err
		}
		id, err := hex.DecodeString(r.ID)
		if err != nil {
			return err
		}
		if err := pg.RenewMACs(ctx, q, pg.Renewal{Key: id, Unverified: r.Lost}); err != nil {
			return err
		}
		_, err = retireKey(ctx, q, r.ID, r.Now)
		return err
	})
}

// locked keeps others from recording or retiring a key, checks that the retirement is allowed, and returns all keys.
func (r Retirement) locked(ctx context.Context, q *pg.Q) ([]models.MasterKey, error) {
	if err := lockKey(ctx, q); err != nil {
		return nil, err
	}
	rows, err := ListKeys(ctx, q)
	if err != nil {
		return nil, err
	}
	return rows, r.allowed(inUse(rows))
}

// released seals anew what would keep the key in use, and returns an error if anything still needs it.
func (r Retirement) released(ctx context.Context, q *pg.Q) error {
	rows, err := r.locked(ctx, q)
	if err != nil {
		return err
	}
	if err := r.Reseal(ctx, q); err != nil {
		return err
	}
	return r.unused(ctx, q, rows)
}

// allowed checks that the key is one of the database's, is not the active one, and that all others are held.
func (r Retirement) allowed(recorded []models.MasterKey) error {
	others := slices.DeleteFunc(slices.Clone(recorded), func(k models.MasterKey) bool { return k.ID == r.ID })
	switch {
	case len(others) == len(recorded):
		return fmt.Errorf("this database has no master key %s in use: countersign key master list shows them", r.ID)
	case len(others) == 0 || r.Keys.ActiveID() == r.ID:
		return fmt.Errorf("%s is the master key that seals: put a new one in front of it in %s first", r.ID, Setting)
	}
	return compare(others, r.Keys.Fingerprints())
}

// unused returns an error that counts the stored values still sealed by the key.
func (r Retirement) unused(ctx context.Context, q *pg.Q, rows []models.MasterKey) error {
	id, err := hex.DecodeString(r.ID)
	if err != nil {
		return errors.New("the id of a master key is hexadecimal")
	}
	sealed, err := sealedBy(ctx, q, id)
	if err != nil {
		return err
	}
	var needs []string
	for table, n := range sealed {
		needs = append(needs, fmt.Sprintf("%d in %s", n, table))
	}
	slices.Sort(needs)
	for _, row := range rows {
		if row.ID != r.Keys.ActiveID() {
			continue
		}
		n, err := credentialKeysBefore(ctx, q, row.RecordedAt, r.Now)
		if err != nil {
			return err
		}
		if n > 0 {
			needs = append(needs, fmt.Sprintf("%d API keys made before the active master key", n))
		}
		if n, err = aliasesBefore(ctx, q, row.RecordedAt); err != nil {
			return err
		}
		if n > 0 {
			needs = append(needs, fmt.Sprintf("%d names of subjects sent before the active master key", n))
		}
	}
	if len(needs) == 0 {
		return nil
	}
	return fmt.Errorf("the master key %s is still needed (%s): rotate what it sealed, or give --lost if the key is lost and with it what it sealed",
		r.ID, strings.Join(needs, ", "))
}
