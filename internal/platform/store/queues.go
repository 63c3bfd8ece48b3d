package store

import (
	"context"
	"time"
)

// Queue is how much of one kind of work waits, and how long the oldest of it has.
type Queue struct {
	Kind   string        // outbox, deliveries, challenges_overdue, holds, holds_overdue, signing_key
	Topic  string        // of the outbox; else empty
	Count  int64         // rows
	Oldest time.Duration // since the oldest was due, opened or, for a signing key, began to sign
}

// Queues measures every kind over all environments: it is for the operator, who belongs to no tenant. A kind of which
// nothing waits is there with zeros, but for topics of the outbox.
func (q Console) Queues(ctx context.Context, now time.Time) ([]Queue, error) {
	var rows []struct {
		Kind, Topic string
		Count       int64
		Seconds     float64
	}
	err := q.gorm(ctx).Raw(`
		select 'outbox' as kind, topic, count(*) as count, extract(epoch from @now - min(available_at)) as seconds
		from outbox where available_at <= @now group by topic
		union all
		select 'deliveries', '', count(*), coalesce(extract(epoch from @now - min(next_attempt_at)), 0)
		from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id and e.status = 'enabled' and e.deleted_at is null
		where d.status = 'pending' and d.next_attempt_at <= @now
		union all
		select 'challenges_overdue', '', count(*), coalesce(extract(epoch from @now - min(expires_at)), 0)
		from challenges where status = 'open' and expires_at <= @now
		union all
		select 'holds', '', count(*), coalesce(extract(epoch from @now - min(opened_at)), 0) from holds where status = 'pending'
		union all
		select 'holds_overdue', '', count(*), coalesce(extract(epoch from @now - min(due_at)), 0)
		from holds where status = 'pending' and due_at <= @now
		union all
		select 'signing_key', '', count(*), coalesce(extract(epoch from @now - min(activated_at)), 0)
		from signing_keys where status = 'active'`, map[string]any{"now": now}).Scan(&rows).Error
	if err != nil {
		return nil, err
	}
	queues := make([]Queue, len(rows))
	for i, r := range rows {
		queues[i] = Queue{Kind: r.Kind, Topic: r.Topic, Count: r.Count, Oldest: time.Duration(max(r.Seconds, 0) * float64(time.Second))}
	}
	return queues, nil
}
