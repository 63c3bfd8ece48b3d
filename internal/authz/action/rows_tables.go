package action

import (
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

var _ = pg.Declare[models.Action](pg.Table{
	Name: "actions", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"environments", "tenants"},
	Of:     pg.OfEnvironment,
	Moves: []string{
		"id", "tenant_id", "environment_id", "key", "name", "consequence", "risk_class", "resource_type", "mode", "allowed_audiences",
		"allowed_callers", "proof_ttl_seconds", "active_policy_version", "archived_at",
	},
	Added: []string{"labels"},
	Free: pg.Reasons{
		"context_schema": "copied to the first draft, whose content is hashed",
		"created_at":     "decides nothing",
		"updated_at":     "decides nothing",
	},
})

var _ = pg.Declare[models.PolicyVersion](pg.Table{
	Name: "policy_versions", Key: []string{"id"}, Placed: pg.Everywhere,
	Refers: []string{"actions"},
	Of:     pg.OfEnvironment,
	Moves: []string{
		"id", "tenant_id", "environment_id", "action_id", "version", "content_hash", "requirements", "context_schema", "allowed_audiences",
		"allowed_callers", "proof_ttl_seconds", "lists", "created_at", "created_by", "reason", "status", "activated_at", "activated_by",
		"retired_at",
	},
	Ends: &pg.Ends{States: []string{"case when r.status <> 'retired' then r.id || ' ' || r.status end"}},
})
