package team

import (
	"context"

	"github.com/countersign-dev/countersign/internal/platform/store"
)

// MaxCandidates limits how many possible members a form offers.
const MaxCandidates = 500

// Candidates returns who may review in the environment now, people first: at most MaxCandidates.
func (s *Service) Candidates(ctx context.Context, scope store.Scope) ([]store.Named, error) {
	return s.store.Teams().Candidates(ctx, scope, s.clock.Now(), MaxCandidates)
}

// MemberNames returns the names of actors that have one, by actor.
func (s *Service) MemberNames(ctx context.Context, scope store.Scope, actors []string) (map[string]string, error) {
	rows, err := s.store.Teams().MemberNames(ctx, scope, actors)
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		if r.Name != "" {
			out[r.Actor] = r.Name
		}
	}
	return out, err
}

// Names returns the names of the teams of the environment, by key.
func (s *Service) Names(ctx context.Context, scope store.Scope) (map[string]string, error) {
	return s.store.Teams().Names(ctx, scope)
}

// Load has the requirements of one team: of active policies, and of the holds that wait.
type Load struct {
	Requirements []store.TeamRequirement // of this team
	Escalations  []store.TeamRequirement // of other teams, that lead to this one
	Holds        store.TeamHolds
}

// Loads returns what is required of each team of the environment, by key. Teams of which nothing is required are left out.
func (s *Service) Loads(ctx context.Context, scope store.Scope) (map[string]Load, error) {
	required, err := s.store.Teams().Requirements(ctx, scope)
	if err != nil {
		return nil, err
	}
	holds, err := s.store.Teams().PendingHolds(ctx, scope, s.clock.Now())
	out := map[string]Load{}
	for _, r := range required {
		of := out[r.Team]
		of.Requirements = append(of.Requirements, r)
		out[r.Team] = of
		if r.EscalateTeam != "" {
			to := out[r.EscalateTeam]
			to.Escalations = append(to.Escalations, r)
			out[r.EscalateTeam] = to
		}
	}
	for _, h := range holds {
		of := out[h.Team]
		of.Holds = h
		out[h.Team] = of
	}
	return out, err
}
