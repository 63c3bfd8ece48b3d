package testenv

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/models"
)

// CheckEvents checks every event of a database against the schema of its type, so that the events that tests make the
// product write conform to the documentation. It skips events that a test altered or erased. It returns the number of events
// of each type, and an error that joins one for each wrong event.
func CheckEvents(ctx context.Context, url string) (map[events.Type]int, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, `select id, environment_id, type, subject_uid, subject, action, authorization_id, decision, request_id,
		data, salt, digest from events where erased_at is null`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := map[events.Type]int{}
	var wrong []error
	for rows.Next() {
		var e models.Event
		var data []byte
		if err := rows.Scan(&e.ID, &e.EnvironmentID, &e.Type, &e.SubjectUID, &e.Subject, &e.Action, &e.AuthorizationID, &e.Decision,
			&e.RequestID, &data, &e.Salt, &e.Digest); err != nil {
			return nil, err
		}
		if data != nil {
			e.Data = data
		}
		seen[events.Type(e.Type)]++
		err := events.Check(e)
		if err != nil && !errors.Is(err, events.ErrErased) && !errors.Is(err, events.ErrAltered) {
			wrong = append(wrong, fmt.Errorf("%s, data %s: %w", e.ID, e.Data, err))
		}
	}
	return seen, errors.Join(append(wrong, rows.Err())...)
}
