package store

import (
	"context"

	"github.com/countersign-dev/countersign/models"
)

// eventColumns are what a writer says of an entry, in the order of insertEvent's arguments.
const eventColumns = `id, tenant_id, environment_id, type, at, subject_uid, subject, action, authorization_id,
	decision, actor, request_id, workflow_id, data, salt, digest`

const insertEvent = `insert into events (` + eventColumns + `)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`

// announceEvent adds the outbox row of an entry if the environment has an enabled webhook endpoint.
const announceEvent = `insert into outbox (topic, environment_id, ref, payload, created_at, available_at)
	select 'event', $1, $2, '{}', $3, $3 where exists
	(select 1 from webhook_endpoints where environment_id = $1 and status = 'enabled' and deleted_at is null)`

// Append writes one entry of the log and, where announce is set and the environment has an enabled webhook
// endpoint, the outbox row that fans it out. It sends no notification: a transaction that notifies commits under a lock of
// the whole server. Write wakes the relays after the commit, and event streams read the log every tenth of a second.
func (q Events) Append(ctx context.Context, e models.Event, announce bool) error {
	if _, err := q.exec(ctx, insertEvent, e.ID, e.TenantID, e.EnvironmentID, e.Type, e.At, e.SubjectUID, e.Subject, e.Action,
		e.AuthorizationID, e.Decision, e.Actor, e.RequestID, e.WorkflowID, e.Data, e.Salt, e.Digest); err != nil {
		return err
	}
	if !announce {
		return nil
	}
	n, err := q.exec(ctx, announceEvent, e.EnvironmentID, e.ID, e.At)
	if err != nil {
		return err
	}
	if n > 0 {
		q.markOutbox()
	}
	return nil
}

// Insert adds work that must follow the commit. In Write the relays are woken after the commit; outside of it they
// find the row when they next look.
func (q Outbox) Insert(ctx context.Context, o models.Outbox) error {
	_, err := q.exec(ctx, `insert into outbox (topic, environment_id, ref, payload, created_at, available_at)
		values ($1, $2, $3, $4, $5, $6)`, o.Topic, o.EnvironmentID, o.Ref, o.Payload, o.CreatedAt, o.AvailableAt)
	q.markOutbox()
	return err
}
