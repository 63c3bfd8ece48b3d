package team

import (
	"context"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// MaxCandidates limits how many possible members a form offers.
const MaxCandidates = 500

// Candidates returns who may review in the environment now, people first: at most MaxCandidates.
func (s *Service) Candidates(ctx context.Context, scope pg.Scope) ([]Named, error) {
	return candidatesForTeam(ctx, s.store.Q, scope, s.clock.Now(), MaxCandidates)
}

// MemberNames returns the names of actors that have one, by actor.
func (s *Service) MemberNames(ctx context.Context, scope pg.Scope, actors []string) (map[string]string, error) {
	rows, err := teamMemberNames(ctx, s.store.Q, scope, actors)
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		if r.Name != "" {
			out[r.Actor] = r.Name
		}
	}
	return out, err
}

// Names returns the names of the teams of the environment, by key.
func (s *Service) Names(ctx context.Context, scope pg.Scope) (map[string]string, error) {
	return namesOfTeams(ctx, s.store.Q, scope)
}

// Load has the requirements of one team: of active policies, and of the holds that wait.
type Load struct {
	Requirements []Requirement // of this team
	Escalations  []Requirement // of other teams, that lead to this one
	Holds        holdsOfTeam
}

// Loads returns what is required of each team of the environment, by key. Teams of which nothing is required are left out.
func (s *Service) Loads(ctx context.Context, scope pg.Scope) (map[string]Load, error) {
	required, err := requirementsWithTeams(ctx, s.store.Q, scope)
	if err != nil {
		return nil, err
	}
	holds, err := pendingHoldsOfTeam(ctx, s.store.Q, scope, s.clock.Now())
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
