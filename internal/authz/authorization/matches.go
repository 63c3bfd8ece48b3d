package authorization

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Matched is how many stored decisions the rules of a policy version match.
type Matched struct {
	Decisions int      `json:"decisions"` // the newest ones of the action
	Matches   int      `json:"matches"`
	Undecided int      `json:"undecided"` // depend on a value that is not stored; they are not in Matches
	Unknown   []string `json:"unknown"`   // these values, as the conditions write them
}

// Matches applies the rules of a version, which need not be stored, to the newest decisions of its action. It is unavailable while too many
// simulations run.
func (s *Service) Matches(ctx context.Context, scope pg.Scope, v models.PolicyVersion, kind policy.EnvironmentKind, last int) (Matched, error) {
	if err := s.replays.Enter(ctx, scope.Tenant, simulationsWait); err != nil {
		return Matched{}, problem.NewUnavailable("Too many simulations are in progress. Retry the request.", err)
	}
	defer s.replays.Leave(scope.Tenant)
	out := Matched{Unknown: []string{}}
	contract, err := action.Contract(v)
	if err != nil {
		return out, err
	}
	rows, err := listReplayables(ctx, s.store.Q, scope, v.ActionID, nil, nil, last)
	if err != nil {
		return out, err
	}
	replay, err := s.replayer(ctx, scope, v, contract, rows, kind)
	if err != nil {
		return out, err
	}
	out.Decisions = len(rows)
	for _, row := range rows {
		applied, err := replay.rules(ctx, row)
		switch {
		case err != nil:
			return out, err
		case len(applied.matched) > 0:
			out.Matches++
		case len(applied.undecided) > 0:
			out.Undecided++
		}
		for _, u := range applied.undecided {
			out.Unknown = append(out.Unknown, u.Unknown...)
		}
	}
	slices.Sort(out.Unknown)
	out.Unknown = slices.Compact(out.Unknown)
	return out, nil
}
