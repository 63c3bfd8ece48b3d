package testenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/events"
)

// consequences lists, for each type of event, the types that may not precede it in its transaction: its consequences.
var consequences = map[events.Type][]events.Type{
	events.AuthorizationDecided:    {events.ChallengeRequested, events.HoldOpened},
	events.ChallengeCompleted:      {events.AuthorizationDecided, events.ChallengeRequested, events.HoldOpened},
	events.HoldApproved:            {events.AuthorizationDecided, events.ChallengeRequested, events.HoldOpened},
	events.SubjectRevoked:          {events.ProofRevoked, events.ChallengeCancelled, events.ClientTokenRevoked},
	events.SubjectErasureRequested: {events.ProofRevoked, events.ChallengeCancelled, events.ClientTokenRevoked},
	events.RecoveryStarted:         {events.ProofRevoked, events.ChallengeCancelled, events.ClientTokenRevoked, events.TemplateReset},
	events.EnrollmentCompleted:     {events.RecoveryCompleted},
	events.PolicyActivated:         {events.PolicyRetired},
	events.TenantCreated:           {events.EnvironmentCreated},
	events.SubjectCreated:          {events.SessionStarted},
}

// CheckOrder checks that in every transaction of a database's log ids and times rise in the order in which the events were
// written, and that no consequence precedes its cause. Then readers by number and readers by time and id see the same order.
func CheckOrder(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, "select coalesce(cause, id) as tx, environment_id, id, at, type from events order by environment_id, tx, seq")
	if err != nil {
		return err
	}
	defer rows.Close()
	type entry struct {
		tx, environment, id string
		at                  time.Time
		kind                events.Type
	}
	var before entry          // the previous event of the same transaction
	var earlier []events.Type // of the same transaction
	var wrong []error
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.tx, &e.environment, &e.id, &e.at, &e.kind); err != nil {
			return err
		}
		// The rows are sorted by environment and transaction: each transaction is checked by itself.
		if e.tx != before.tx || e.environment != before.environment {
			before, earlier = entry{}, nil
		}
		if e.id < before.id || e.at.Before(before.at) {
			wrong = append(wrong, fmt.Errorf("%s %s at %s was written after %s %s at %s of its transaction, but is listed before it",
				e.kind, e.id, e.at, before.kind, before.id, before.at))
		}
		for _, t := range earlier {
			if slices.Contains(consequences[e.kind], t) {
				wrong = append(wrong, fmt.Errorf("%s %s was written after %s, which is its consequence", e.kind, e.id, t))
			}
		}
		before, earlier = e, append(earlier, e.kind)
	}
	return errors.Join(append(wrong, rows.Err())...)
}
