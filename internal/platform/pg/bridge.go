package pg

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
)

// bridged reports whether a row may be one that version 1.0 wrote: it has no MAC, or 1.0 has changed what it covers since.
func (f attestedForm) bridged(mac []byte) bool {
	return f.declared.Bridged && (mac == nil || len(f.declared.Moves) > 0)
}

// bridge is the time in which rows of version 1.0 are believed without a MAC (Table.Bridged): from the migration of a database that 1.0 wrote until
// countersign migrate --finish. A row with a MAC of its own says that it began, and another that it ended, so that an earlier copy of the first does not
// begin it again.
type bridge struct{ open atomic.Bool }

// The rows of the table bridges.
const (
	bridgeOpened   = "1.0"
	bridgeFinished = "1.0 finished"
)

const (
	bridgePurpose = "bridge"
	// bridgeVersion is the migration that adds the MACs.
	bridgeVersion = 1111
	// bridgeEvery is how often a process reads whether the bridge has ended.
	bridgeEvery = 5 * time.Second
)

// errNoBridgeKeys says that the migration of a database of version 1.0 needs the master keys.
var errNoBridgeKeys = errors.New("this database was written by version 1.0, whose rows have no MAC: set COUNTERSIGN_MASTER_KEY, which signs that they are believed until countersign migrate --finish")

// NeedsBridge reports whether Migrate has rows of version 1.0 before it, for which it needs the master keys.
func (s *Store) NeedsBridge(ctx context.Context) (bool, error) {
	have, _, err := s.SchemaVersions(ctx)
	return have > 0 && have < bridgeVersion, err
}

// openBridge lets rows of version 1.0 be believed without a MAC.
func (s *Store) openBridge(ctx context.Context) error {
	if err := addBridge(ctx, s.Q, bridgeOpened); err != nil {
		return err
	}
	return s.readBridge(ctx)
}

func addBridge(ctx context.Context, q *Q, name string) error {
	var at time.Time
	if err := q.QueryRow(ctx, "select clock_timestamp()").Scan(&at); err != nil {
		return err
	}
	at = at.UTC().Truncate(time.Microsecond)
	_, err := q.Exec(ctx, "insert into bridges (name, at, mac) values ($1, $2, $3) on conflict do nothing", name, at,
		q.attestation().keys.Attest(bridgePurpose, []byte(name), []byte(at.Format(time.RFC3339Nano))))
	return err
}

// BridgeIsOpen reports whether rows of version 1.0 are believed without a MAC.
func (s *Store) BridgeIsOpen(ctx context.Context) (bool, error) {
	err := s.readBridge(ctx)
	return s.attestation().bridge.open.Load(), err
}

// Bridging reports whether rows of version 1.0 were believed without a MAC when that was read last.
func (q *Q) Bridging() bool { return q.attestation().bridge.open.Load() }

// readBridge reads whether the bridge is open.
func (s *Store) readBridge(ctx context.Context) error {
	a := s.attestation()
	var there bool
	if err := s.QueryRow(ctx, "select to_regclass('bridges') is not null").Scan(&there); err != nil || !there || a.keys == nil {
		return err
	}
	rows, err := s.Query(ctx, "select name, at, mac from bridges")
	if err != nil {
		return err
	}
	defer rows.Close()
	opened, finished := false, false
	for rows.Next() {
		var name string
		var at time.Time
		var mac []byte
		if err := rows.Scan(&name, &at, &mac); err != nil {
			return err
		}
		valid := a.keys.Attested(bridgePurpose, mac, []byte(name), []byte(at.UTC().Format(time.RFC3339Nano))) == nil
		opened = opened || name == bridgeOpened && valid
		finished = finished || name == bridgeFinished
	}
	if rows.Err() == nil {
		a.bridge.open.Store(opened && !finished)
	}
	return rows.Err()
}

// followBridge reads whether the bridge has ended, until it has.
func (s *Store) followBridge(ctx context.Context) {
	for s.attestation().bridge.open.Load() && pause(ctx, bridgeEvery) == nil {
		_ = s.readBridge(ctx) // the database is unavailable: no row is read either
	}
}

// FinishBridge signs the rows that version 1.0 wrote, as they are stored, and ends the bridge, in the caller's transaction. It returns how many rows
// it signed.
func FinishBridge(ctx context.Context, q *Q) (signed int, err error) {
	bridged := slices.DeleteFunc(AttestedTables(), func(t *Table) bool { return !t.Bridged })
	signed, err = q.renewAll(ctx, bridged, func(t *Table, tx *gorm.DB) *gorm.DB {
		if len(t.Moves) == 0 {
			tx = tx.Where("row_mac is null")
		}
		return Unchecked(tx)
	}, func(f attestedForm, rows reflect.Value) reflect.Value {
		invalid := reflect.MakeSlice(rows.Type(), 0, rows.Len())
		for i := range rows.Len() {
			if q.attestation().matches(ctx, f, rows.Index(i)) != nil {
				invalid = reflect.Append(invalid, rows.Index(i))
			}
		}
		return invalid
	})
	if err != nil {
		return signed, err
	}
	return signed, addBridge(ctx, q, bridgeFinished)
}

// applicationName is how connections of this version are named. Those of version 1.0 are named earlierName.
const (
	applicationName = "countersign 1.1"
	earlierName     = "countersign"
)

// EarlierConnections returns the number of connections of processes of version 1.0.
func (s *Store) EarlierConnections(ctx context.Context) (n int, err error) {
	err = s.QueryRow(ctx, "select count(*) from pg_stat_activity where datname = current_database() and application_name = $1", earlierName).Scan(&n)
	return n, err
}
