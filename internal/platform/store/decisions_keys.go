package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/countersign-dev/countersign/models"
)

// division remembers how far the decisions of the database are divided by time. The database alone decides: a statement that rests on an
// earlier state finds nothing and writes nothing, and says so.
type division struct{ level atomic.Int32 }

// The levels. They only rise.
const (
	undivided    = iota
	keysCopied   // each new decision writes its keys to decision_keys; those from before are being copied
	keysComplete // decision_keys has all keys, and authorizations has no index of them
)

// divisionLevel is a column with the level.
const divisionLevel = `coalesce((select case when complete then 2 else 1 end::bigint from decision_division), 0)`

// learn raises the level.
func (d *division) learn(level int) {
	for known := d.level.Load(); known < int32(level) && !d.level.CompareAndSwap(known, int32(level)); known = d.level.Load() { // #nosec G115 -- at most 2
	}
}

func (q *Q) readDivision(ctx context.Context) error {
	var level int
	err := q.queryRow(ctx, "select "+divisionLevel).Scan(&level)
	q.division.learn(level)
	return err
}

// keyForm is where the keys of a decision that is written are unique.
type keyForm int

const (
	keysOfParent keyForm = iota // a follow-up decision has those of its parent
	keysOfTable                 // by the indexes of authorizations
	keysWritten                 // by decision_keys
)

func (d *division) formOf(a *models.Authorization) keyForm {
	switch {
	case a.ParentID != nil:
		return keysOfParent
	case d.level.Load() == undivided:
		return keysOfTable
	}
	return keysWritten
}

// guard is a condition on the database: a decision without its keys is not written once they are to be.
func (k keyForm) guard() string {
	if k == keysOfTable {
		return " and not exists (select from decision_division)"
	}
	return ""
}

// keySize is the number of bytes of SHA-256 that a key is stored as. It is that of keyOf.
const keySize = 16

// keyDigest returns what decision_keys has of a nonce or an idempotency key.
func keyDigest(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:keySize]
}

// keyOf is keyDigest as an expression of SQL.
func keyOf(column string) string {
	return "substring(sha256(convert_to(" + column + ", 'UTF8')) for 16)"
}

func (s *statement) insertKeys(a *models.Authorization) {
	var idempotency []byte
	if a.IdempotencyKey != nil {
		idempotency = keyDigest(*a.IdempotencyKey)
	}
	s.insert("dky", "decision_keys", "environment_id, nonce, idempotency_key, authorization_id",
		textOf(&a.EnvironmentID), keyDigest(a.Nonce), idempotency, textOf(&a.ID))
}

// factsByKeys is the statement of FactsFor behind its first columns, if decisions are divided: only the id of the stored response is read,
// so that the statement has no partition in it. A response is repeated rarely; it is read by its id.
const factsByKeys = `, ` + divisionLevel + `, prior.authorization_id, null::bytea, null::bytea, null::bytea
		from (values (1)) one
		left join subjects s on s.tenant_id = $1 and s.environment_id = $2 and s.external_id = $3 and s.status <> 'erasing'
		` + factSession + `
		left join decision_keys prior on prior.idempotency_key = substring(sha256(convert_to($5, 'UTF8')) for 16) and prior.environment_id || '' = $2`

// factsOf runs the statement of FactsFor, again by the keys if the database says that its decisions are divided.
func (q Decisions) factsOf(ctx context.Context, statement string, args []any, s Scope, with *group) (Facts, error) {
	if q.division.level.Load() < keysComplete {
		f, err := q.readFacts(ctx, s, statement, args, with)
		q.division.learn(f.division)
		if err != nil || f.division < keysComplete {
			return f, err
		}
	}
	f, err := q.readFacts(ctx, s, strings.Replace(statement, factsFrom, factsByKeys, 1), args, with)
	if err == nil && f.Prior != nil {
		f.Prior, err = q.prior(ctx, s, f.Prior.ID)
	}
	return f, err
}

// prior returns the stored response of a decision, or nil if the decision is gone.
func (q Decisions) prior(ctx context.Context, s Scope, id string) (*PriorDecision, error) {
	var a models.Authorization
	err := q.gorm(ctx).Where("tenant_id = ? and environment_id = ? and id = ?", s.Tenant, s.Environment, id).Take(&a).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &PriorDecision{ID: id, RequestHash: a.RequestHash, Response: a.Response}, nil
}

// deleteParts deletes the keys and parts of decisions, which is a query of some rows of authorizations. No foreign key deletes their proofs,
// and if decisions are divided, none deletes the others.
func (q *Q) deleteParts(ctx context.Context, decisions string, args ...any) error {
	statements := []string{"decision_keys x using (" + decisions + ") d where x.nonce = " + keyOf("d.nonce") + " and x.authorization_id = d.id"}
	for _, table := range models.DecisionParts {
		statements = append(statements, table+" x using ("+decisions+") d where x.authorization_id = d.id")
	}
	for _, s := range statements {
		if _, err := q.exec(ctx, "delete from "+s+" and x.environment_id = d.environment_id", args...); err != nil {
			return err
		}
	}
	return nil
}

// expireDecisions removes at most limit decisions that are older than t, with their parts.
func (q Retention) expireDecisions(ctx context.Context, t time.Time, limit int) ([]EnvironmentCount, error) {
	rows, err := q.query(ctx, `select d.id from authorizations d where not (`+currentRows(decisionsTable())+`) limit $2`, t, limit)
	if err != nil {
		return nil, err
	}
	expired, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(expired) == 0 {
		return nil, err
	}
	const selected = "select * from authorizations where id = any($1)"
	if err := q.deleteParts(ctx, selected, expired); err != nil {
		return nil, err
	}
	return q.environmentCounts(ctx, "delete from authorizations where id = any($1) returning environment_id", expired)
}

func decisionsTable() models.PartitionedTable {
	return models.PartitionedTables[slices.IndexFunc(models.PartitionedTables, func(t models.PartitionedTable) bool { return t.Table == "authorizations" })]
}

// eraseDecisions deletes at most limit decisions of a subject from a partition, with their proofs, their keys and what foreign keys delete
// otherwise. It returns the numbers of decisions and of proofs.
func (q Erasures) eraseDecisions(ctx context.Context, leaf, environment, uid string, limit int) (n, proofs int64, err error) {
	err = q.queryRow(ctx, `with gone as (delete from `+leaf+` where environment_id = $3 and ctid = any (array(
			select ctid from `+leaf+` where subject_uid = $1 and environment_id = $3 limit $2)) returning id, nonce),
		keys as (delete from decision_keys k using gone where k.nonce = `+keyOf("gone.nonce")+` and k.authorization_id = gone.id and k.environment_id = $3),
		moves as (delete from move_requests m using gone where m.authorization_id = gone.id and m.environment_id = $3),
		proven as (delete from proofs p using gone where p.authorization_id = gone.id and p.environment_id = $3 returning 1)
		select (select count(*) from gone), (select count(*) from proven)`, uid, limit, environment).Scan(&n, &proofs)
	return n, proofs, err
}
