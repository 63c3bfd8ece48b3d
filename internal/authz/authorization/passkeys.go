package authorization

import (
	"context"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// usablePasskeys returns how many passkeys of the subject may complete a challenge of the policy. Only a policy that permits some
// models reads more than the count.
func usablePasskeys(ctx context.Context, q *pg.Q, in decisionInput) (int, error) {
	permitted := in.force.Contract.Requirements.PasskeyAAGUIDs
	if len(permitted) == 0 || in.facts.Passkeys == 0 {
		return in.facts.Passkeys, nil
	}
	scope := pg.Scope{Tenant: in.base.TenantID, Environment: in.base.EnvironmentID}
	active, err := challenge.ActivePasskeys(ctx, q, scope, in.facts.Subject.UID)
	return len(models.OfModels(active, permitted)), err
}

// permitModels replaces the number of passkeys of each decision by that of the models that the requirements permit.
func (s *Service) permitModels(ctx context.Context, scope pg.Scope, rows []Replayable, r policy.Requirements) error {
	if len(r.PasskeyAAGUIDs) == 0 {
		return nil
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	counts, err := countsOfModels(ctx, s.store.Q, scope, ids, r.PasskeyAAGUIDs)
	for i := range rows {
		rows[i].Passkeys = counts[rows[i].ID]
	}
	return err
}
