package store

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/countersign-dev/countersign/models"
)

// ErasedTerms stores what the next subject with the id of an erased one takes over.
type ErasedTerms struct{ *Q }

// ErasedTerms returns the queries of the aggregate.
func (q *Q) ErasedTerms() ErasedTerms { return ErasedTerms{q} }

// Put stores terms; they replace earlier ones of the same id, which the erased subject had taken over.
func (q ErasedTerms) Put(ctx context.Context, t models.ErasedTerms) error {
	return q.gorm(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "environment_id"}, {Name: "mac"}}, UpdateAll: true}).Create(&t).Error
}

// Take deletes the terms of an id and returns those that have not expired, or ErrNotFound.
func (q ErasedTerms) Take(ctx context.Context, environment string, macs [][]byte, at time.Time) (models.ErasedTerms, error) {
	var rows []models.ErasedTerms
	err := q.gorm(ctx).Raw("delete from erased_terms where environment_id = ? and mac in ? returning *", environment, macs).Find(&rows).Error
	for _, t := range rows {
		if err == nil && at.Before(t.ExpiresAt) {
			return t, nil
		}
	}
	if err == nil {
		err = ErrNotFound
	}
	return models.ErasedTerms{}, err
}

// Drop deletes at most limit rows that expired before t.
func (q ErasedTerms) Drop(ctx context.Context, t time.Time, limit int) (int64, error) {
	return q.exec(ctx, "delete from erased_terms where (environment_id, mac) in (select environment_id, mac from erased_terms where expires_at < $1 limit $2)", t, limit)
}
