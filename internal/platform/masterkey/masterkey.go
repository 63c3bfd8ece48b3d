// Package masterkey checks that a process has the master keys of its database, and records new ones. A process with different
// keys could not read the database and would write values that no other process can read, so it must not start.
//
// The database stores a fingerprint of every master key that ever sealed a value in it (table master_keys). A process needs all
// keys that are not retired. Its active key is recorded before it first seals, after the process has shown with the other keys
// that the database belongs to it. The package may not store or print key material.
package masterkey

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Setting names where a process reads its master keys from, unless it says otherwise.
const Setting = "COUNTERSIGN_MASTER_KEY"

// Mismatch is the error of a process that does not have the master keys of its database. Its text is one sentence.
type Mismatch struct {
	// Where the keys were read from.
	Setting string
	// Ids of the keys that the process has.
	Held []string
	// Ids of the keys that it lacks.
	Missing []string
	// The process holds none of the database's keys.
	Foreign bool
	// The database has signing keys and no fingerprints: someone removed them.
	Unrecorded bool
}

// Error implements error.
func (m *Mismatch) Error() string {
	switch {
	case m.Unrecorded:
		return fmt.Sprintf("%s cannot be compared with this database: it has signing keys and no row in master_keys; restore that table", m.Setting)
	case m.Foreign:
		return fmt.Sprintf("%s does not hold the master key of this database: it holds %s and the database was sealed with %s; set the key that the "+
			"database was sealed with, from a backup if it was lost: without it only a new database is of use", m.Setting, strings.Join(m.Held, ", "), strings.Join(m.Missing, ", "))
	default:
		return fmt.Sprintf("%s lacks the master key %s, which also sealed this database: add it after the active one, or take it out of use with "+
			"countersign key master retire", m.Setting, strings.Join(m.Missing, ", "))
	}
}

// At returns err with the given name of the setting that the keys were read from, if it is a Mismatch.
func At(setting string, err error) error {
	var m *Mismatch
	if !errors.As(err, &m) {
		return err
	}
	named := *m
	named.Setting = setting
	return &named
}

// Compare returns a Mismatch if the keys are not those of the database. It changes nothing. It returns nil for a database that
// no process has used yet.
func Compare(ctx context.Context, q *pg.Q, keys *keyring.Keyring) error {
	rows, err := ListKeys(ctx, q)
	if err != nil {
		return err
	}
	return compare(inUse(rows), keys.Fingerprints())
}

// inUse returns the keys that are not retired.
func inUse(rows []models.MasterKey) []models.MasterKey {
	var out []models.MasterKey
	for _, r := range rows {
		if r.RetiredAt == nil {
			out = append(out, r)
		}
	}
	return out
}

// compare returns a Mismatch unless every recorded key is held.
func compare(recorded []models.MasterKey, held []keyring.Fingerprint) error {
	m := &Mismatch{Setting: Setting}
	for _, f := range held {
		m.Held = append(m.Held, f.ID)
	}
	for _, r := range recorded {
		if !holds(held, r) {
			m.Missing = append(m.Missing, r.ID)
		}
	}
	if len(m.Missing) == 0 {
		return nil
	}
	m.Foreign = len(m.Missing) == len(recorded)
	return m
}

// holds reports whether a recorded key is among those held; id and value must both be equal.
func holds(held []keyring.Fingerprint, r models.MasterKey) bool {
	for _, f := range held {
		if f.ID == r.ID {
			return subtle.ConstantTimeCompare(f.Value, r.Fingerprint) == 1
		}
	}
	return false
}

// Confirmation holds the arguments of Confirm.
type Confirmation struct {
	Store *pg.Store
	Keys  *keyring.Keyring
	Now   time.Time
}

// Confirm compares like Compare, and records the active key if the database does not know it. If several processes with
// different keys start on a new database at once, the keys of the first one become the database's.
func Confirm(ctx context.Context, c Confirmation) error {
	rows, err := ListKeys(ctx, c.Store.Q)
	if err != nil {
		return err
	}
	done, err := c.known(inUse(rows))
	if err != nil || done {
		return err
	}
	return c.Store.Write(ctx, func(q *pg.Q) error {
		if err := lockKey(ctx, q); err != nil {
			return err
		}
		rows, err := ListKeys(ctx, q) // another process may have recorded its own key since
		if err != nil {
			return err
		}
		if done, err := c.known(inUse(rows)); err != nil || done {
			return err
		}
		if len(rows) == 0 {
			sealed, err := anySigningKey(ctx, q)
			if err != nil {
				return err
			}
			if sealed {
				return &Mismatch{Setting: Setting, Unrecorded: true}
			}
		}
		active := c.Keys.Fingerprints()[0]
		return RecordKey(ctx, q, models.MasterKey{ID: active.ID, Fingerprint: active.Value, RecordedAt: c.Now})
	})
}

// known reports whether the keys are the database's, including the active one.
func (c Confirmation) known(recorded []models.MasterKey) (bool, error) {
	if err := compare(recorded, c.Keys.Fingerprints()); err != nil {
		return false, err
	}
	active := c.Keys.ActiveID()
	for _, r := range recorded {
		if r.ID == active {
			return true, nil
		}
	}
	return false, nil
}
