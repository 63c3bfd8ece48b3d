package console

import (
	"context"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/internal/authz/evaluation"
	"github.com/countersign-dev/countersign/internal/delivery/listexport"
	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// paged makes a source of a list that is read by page. A row without values is left out.
func paged[T any](list func(ctx context.Context, p pg.Page) ([]T, string, error), row func(T) []any) listexport.Source {
	return func(ctx context.Context, cursor string) ([][]any, string, error) {
		rows, next, err := list(ctx, pg.Page{Limit: listexport.Batch, After: cursor})
		out := make([][]any, 0, len(rows))
		for _, r := range rows {
			if values := row(r); values != nil {
				out = append(out, values)
			}
		}
		return out, next, err
	}
}

func (c *console) policiesExport(v *visit) (listexport.List, error) {
	scope := v.scope()
	return listexport.List{
		Name:    "policies",
		Columns: []string{"id", "key", "name", "mode", "risk_class", "active_policy_version", "created_at", "updated_at"},
		Source: paged(func(ctx context.Context, p pg.Page) ([]models.Action, string, error) {
			return c.Actions.List(ctx, scope, p)
		}, func(a models.Action) []any {
			return []any{a.ID, a.Key, a.Name, string(a.Mode), a.RiskClass, a.ActivePolicyVersion, a.CreatedAt, a.UpdatedAt}
		}),
	}, nil
}

func (c *console) evaluationsExport(v *visit) (listexport.List, error) {
	scope := v.scope()
	return listexport.List{
		Name:    "evaluations",
		Columns: []string{"id", "name", "status", "action_keys", "starts_at", "ends_at", "created_at"},
		Source: paged(func(ctx context.Context, p pg.Page) ([]evaluation.View, string, error) {
			return c.Evaluations.List(ctx, scope, "", p)
		}, func(e evaluation.View) []any {
			return []any{e.ID, e.Name, e.Status, e.ActionKeys, e.StartsAt, e.EndsAt, e.CreatedAt}
		}),
	}, nil
}

func (c *console) webhooksExport(v *visit) (listexport.List, error) {
	by := v.principal()
	return listexport.List{
		Name:    "webhooks",
		Columns: []string{"id", "url", "description", "status", "events", "failing_since", "disabled_reason", "disabled_at", "created_at"},
		Source: paged(func(ctx context.Context, p pg.Page) ([]models.WebhookEndpoint, string, error) {
			return c.Endpoints.List(ctx, by, p)
		},
			func(e models.WebhookEndpoint) []any {
				return []any{e.ID, e.URL, e.Description, e.Status, []string(e.Events), e.FailingSince, e.DisabledReason, e.DisabledAt, e.CreatedAt}
			}),
	}, nil
}

// attemptStatuses filter the attempts of an endpoint.
var attemptStatuses = []string{"pending", "succeeded", "failed"}

func (c *console) attemptsExport(v *visit) (listexport.List, error) {
	by, id, status := v.principal(), v.param("id"), v.query("status")
	if _, err := c.Endpoints.Get(v.ctx, by, id); err != nil {
		return listexport.List{}, err
	}
	said := exportFilters{"endpoint=" + id}
	said.value("status", status, attemptStatuses...)
	return listexport.List{
		Name: "attempts", Filters: said,
		Columns: []string{"id", "at", "event", "type", "attempt", "status", "attempted", "status_code", "latency_ms", "response_digest", "error", "next_attempt_at"},
		Source: paged(func(ctx context.Context, p pg.Page) ([]webhook.AttemptRow, string, error) {
			return c.Endpoints.Attempts(ctx, by, id, webhook.AttemptFilter{Status: status}, p)
		}, func(a webhook.AttemptRow) []any {
			return []any{a.ID, a.At, a.EventID, a.Type, a.Attempt, a.Status, a.Attempted, a.StatusCode, a.LatencyMS, a.ResponseDigest, a.Error, a.NextAttemptAt}
		}),
	}, nil
}

func (c *console) keysExport(v *visit) (listexport.List, error) {
	scope, now := v.scope(), c.Clock.Now()
	return listexport.List{
		Name:    "keys",
		Columns: []string{"id", "preview", "name", "state", "scope", "permissions", "created_by", "issued_by", "principal", "created_at", "last_used_at", "expires_at", "revoked_at"},
		Source: paged(func(ctx context.Context, p pg.Page) ([]models.Credential, string, error) {
			return c.Credentials.List(ctx, scope, p)
		},
			func(k models.Credential) []any {
				may := make([]string, len(k.Permissions))
				for i, one := range k.Permissions {
					may[i] = string(one)
				}
				return []any{k.ID, k.Preview, k.Name, keyState(k, now).Text, string(k.Scope), may, k.CreatedBy, k.IssuedBy(), k.Principal, k.CreatedAt, k.LastUsedAt, k.ExpiresAt, k.RevokedAt}
			}),
	}, nil
}

// peopleExport is the staff with a role in the environment.
func (c *console) peopleExport(v *visit) (listexport.List, error) {
	scope := v.scope()
	return listexport.List{
		Name:    "people",
		Columns: []string{"id", "name", "state", "roles", "passkeys", "created_at", "joined_at", "confirmed_at", "counts_as"},
		Source: paged(func(ctx context.Context, p pg.Page) ([]staff.Listed, string, error) {
			return c.People.List(ctx, scope.Tenant, p)
		}, func(p staff.Listed) []any {
			var roles []string
			for _, g := range p.Grants {
				if g.Environment.ID != scope.Environment {
					continue
				}
				for _, r := range g.Roles {
					roles = append(roles, string(r))
				}
			}
			if roles == nil {
				return nil
			}
			return []any{p.ID, p.Name, p.State, roles, p.Passkeys, p.CreatedAt, p.JoinedAt, p.ConfirmedAt, p.CountsAs()}
		}),
	}, nil
}
