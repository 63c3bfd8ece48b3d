package store

import (
	"context"
	"database/sql"
	"errors"
)

// RunRecord is the kind of record that a workflow run belongs to.
type RunRecord int

// The kinds of records.
const (
	RunOfChallenge RunRecord = iota
	RunOfHold
	RunOfChange
	RunOfEvaluation
	RunOfEnrollment
	RunOfRecovery
	RunOfErasure
	RunOfSession
)

// homes select the environment of a record by its id alone.
var homes = map[RunRecord]string{
	RunOfChallenge:  "select environment_id from challenges where id = $1",
	RunOfHold:       "select environment_id from holds where authorization_id = $1",
	RunOfChange:     "select environment_id from changes where id = $1",
	RunOfEvaluation: "select environment_id from evaluations where id = $1",
	RunOfEnrollment: "select environment_id from enrollments where id = $1",
	RunOfRecovery:   "select environment_id from recoveries where id = $1",
	RunOfErasure:    "select environment_id from erasures where id = $1",
	RunOfSession:    "select environment_id from sessions where id = $1",
}

// Home returns the environment of a workflow run's record: the one that the run names, or for a run of an earlier version, which names
// none, that of the record. It is empty if the record is gone: then no statement finds it either.
func (q *Q) Home(ctx context.Context, named string, of RunRecord, id string) (string, error) {
	if named != "" {
		return named, nil
	}
	err := q.queryRow(ctx, homes[of], id).Scan(&named)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return named, err
}
