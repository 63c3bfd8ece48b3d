package store

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/models"
)

// ActionOf is the action that an authorization of the environment was about, archived or not.
func (q Console) ActionOf(ctx context.Context, s Scope, authorization string) (models.Action, error) {
	var a models.Action
	return one(a, q.gorm(ctx).Raw(`select c.* from actions c join authorizations a on a.action_id = c.id
		where a.tenant_id = ? and a.environment_id = ? and a.id = ?`, s.Tenant, s.Environment, authorization).Take(&a).Error)
}

// OutboxOf counts the rows of each topic that wait for the environment and tells the age of the oldest.
func (q Console) OutboxOf(ctx context.Context, s Scope) ([]Backlog, error) {
	var rows []Backlog
	err := q.gorm(ctx).Raw(`select o.topic, count(*) as waiting, min(o.created_at) as oldest from outbox o
		join environments e on e.id = o.environment_id where e.tenant_id = ? and e.id = ? group by o.topic order by o.topic`,
		s.Tenant, s.Environment).Scan(&rows).Error
	return rows, err
}

// EndpointBacklog is what one webhook endpoint is still owed.
type EndpointBacklog struct {
	EndpointID string
	Waiting    int64
	Oldest     time.Time
}

// EndpointBacklogs counts what each webhook endpoint of the environment is still owed.
func (q Console) EndpointBacklogs(ctx context.Context, s Scope) (map[string]EndpointBacklog, error) {
	var rows []EndpointBacklog
	err := q.gorm(ctx).Raw(`select d.endpoint_id, count(*) as waiting, min(d.created_at) as oldest from webhook_deliveries d
		join webhook_endpoints p on p.id = d.endpoint_id
		where p.tenant_id = ? and p.environment_id = ? and p.deleted_at is null and d.status = 'pending' group by d.endpoint_id`,
		s.Tenant, s.Environment).Scan(&rows).Error
	out := make(map[string]EndpointBacklog, len(rows))
	for _, r := range rows {
		out[r.EndpointID] = r
	}
	return out, err
}

// Chain is how far the environment's audit chain reaches.
type Chain struct {
	Links    int64
	Unsealed int64      // entries of the log behind the head
	Oldest   *time.Time // of those
}

// AuditReach reads how far the environment's audit chain reaches.
func (q Console) AuditReach(ctx context.Context, s Scope) (Chain, error) {
	var c Chain
	err := q.gorm(ctx).Raw(`select coalesce(max(h.seq), 0) as links, count(v.id) as unsealed, min(v.at) as oldest from environments e
		left join audit_heads h on h.environment_id = e.id
		left join events v on v.environment_id = e.id and (v.txid, v.seq) > (coalesce(h.txid, '0'::xid8), coalesce(h.event_seq, 0))
		where e.tenant_id = ? and e.id = ?`, s.Tenant, s.Environment).Scan(&c).Error
	return c, err
}

// OpenChallenges counts the environment's challenges that can still be completed.
func (q Console) OpenChallenges(ctx context.Context, s Scope, now time.Time) (int64, error) {
	var n int64
	err := q.queryRow(ctx, `select count(*) from challenges where tenant_id = $1 and environment_id = $2 and status = 'open'
		and expires_at > $3`, s.Tenant, s.Environment, now).Scan(&n)
	return n, err
}
