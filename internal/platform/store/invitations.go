package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// Invitations stores the invitations of staff to the console.
type Invitations struct{ *Q }

// Invitations returns the queries of the aggregate.
func (q *Q) Invitations() Invitations { return Invitations{q} }

// Create inserts an invitation.
func (q Invitations) Create(ctx context.Context, i models.PersonInvitation) error {
	return q.gorm(ctx).Create(&i).Error
}

// Get returns the invitation with one of the MACs of its token, and its person. It returns used and expired invitations
// too. If lock is set it locks the row until the transaction ends. There is no scope: the caller has only the token.
func (q Invitations) Get(ctx context.Context, macs [][]byte, lock bool) (models.PersonInvitation, models.Person, error) {
	var i models.PersonInvitation
	var p models.Person
	tx := q.gorm(ctx).Where("mac in ?", macs)
	if lock {
		tx = tx.Clauses(clause.Locking{Strength: "UPDATE"})
	}
	if i, err := orNotFound(i, tx.Take(&i).Error); err != nil {
		return i, p, err
	}
	p, err := orNotFound(p, q.gorm(ctx).Where("id = ?", i.PersonID).Take(&p).Error)
	return i, p, err
}

// Open returns the number of a person's invitations that can still be used.
func (q Invitations) Open(ctx context.Context, person string, now time.Time) (int, error) {
	var n int
	err := q.queryRow(ctx, "select count(*) from person_invitations where person_id = $1 and used_at is null and expires_at > $2",
		person, now).Scan(&n)
	return n, err
}

// Use marks an invitation as used. It returns false if it was used before or has expired.
func (q Invitations) Use(ctx context.Context, mac []byte, at time.Time) (bool, error) {
	n, err := q.exec(ctx, `update person_invitations set used_at = $2
		where mac = $1 and used_at is null and expires_at > $2`, mac, at)
	return n == 1, err
}

// VoidOwn ends the unused invitations that a person issued for themselves, in a session.
func (q Invitations) VoidOwn(ctx context.Context, person string, at time.Time) error {
	_, err := q.exec(ctx, `update person_invitations set used_at = $2
		where person_id = $1 and created_by = 'person:' || person_id and used_at is null`, person, at)
	return err
}

// Void ends the unused invitations of a person.
func (q Invitations) Void(ctx context.Context, person string, at time.Time) error {
	_, err := q.exec(ctx, `update person_invitations set used_at = $2 where person_id = $1 and used_at is null`, person, at)
	return err
}
