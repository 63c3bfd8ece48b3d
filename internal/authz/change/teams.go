package change

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// teamDocument has the stored values of a team: all of them for a new or a deleted team, of a changed one the key and what changes.
type teamDocument struct {
	Key     string    `json:"key,omitempty"`
	Name    *string   `json:"name,omitempty"`
	Members *[]string `json:"members,omitempty"`
}

// CreateTeam creates a team, or requests that: teams decide who may approve holds.
func (s *Service) CreateTeam(ctx context.Context, scope pg.Scope, by By, d team.Draft) (Made[team.View], error) {
	t, err := s.teams.Create(ctx, scope, team.By{Actor: by.Actor, RequestID: by.RequestID}, d)
	return made(t, err, func() (*View, error) {
		return s.proposeBy(ctx, scope, by, func(*pg.Q) (proposal, error) {
			members := sorted(d.Members)
			return teamProposal(models.ChangeTeamCreate, d.Key, teamDocument{}, teamDocument{Key: d.Key, Name: &d.Name, Members: &members})
		})
	})
}

// UpdateTeam changes the name or the members of a team, or requests that.
func (s *Service) UpdateTeam(ctx context.Context, scope pg.Scope, by By, id string, u team.Update) (Made[team.View], error) {
	t, err := s.teams.Update(ctx, scope, team.By{Actor: by.Actor, RequestID: by.RequestID}, id, u)
	return made(t, err, func() (*View, error) {
		return s.proposeBy(ctx, scope, by, func(q *pg.Q) (proposal, error) {
			current, err := found(teamInForce(ctx, q, scope, id, team.GetTeam))
			if err != nil {
				return proposal{}, err
			}
			proposed := proposedTeam(current, u)
			return teamProposal(models.ChangeTeamUpdate, id, current.of(proposed), proposed)
		})
	})
}

// DeleteTeam deletes a team, or requests that.
func (s *Service) DeleteTeam(ctx context.Context, scope pg.Scope, by By, id string) (Made[struct{}], error) {
	err := s.teams.Delete(ctx, scope, team.By{Actor: by.Actor, RequestID: by.RequestID}, id)
	return made(struct{}{}, err, func() (*View, error) {
		return s.proposeBy(ctx, scope, by, func(q *pg.Q) (proposal, error) {
			current, err := found(teamInForce(ctx, q, scope, id, team.GetTeam))
			if err != nil {
				return proposal{}, err
			}
			return teamProposal(models.ChangeTeamDelete, id, current, teamDocument{})
		})
	})
}

// teamProposal returns a change of a team. Its differences show lists of members whole, because an approver judges who may approve
// then, and not a step.
func teamProposal(kind models.ChangeKind, target string, base, proposed teamDocument) (proposal, error) {
	differences, err := fieldDifferences(base, proposed)
	return proposal{kind: kind, target: target, base: base, proposed: proposed, differences: differences}, err
}

// teamInForce returns a team as it is. get decides whether its row is locked.
func teamInForce(ctx context.Context, q *pg.Q, scope pg.Scope, id string, get func(context.Context, *pg.Q, pg.Scope, string) (models.Team, error)) (teamDocument, error) {
	row, err := get(ctx, q, scope, id)
	if err != nil {
		return teamDocument{}, err
	}
	// The row of a team is locked before its members are read: each change of them locks it first.
	rows, err := team.MembersOfTeam(ctx, q, scope, id)
	members := make([]string, len(rows))
	for i, m := range rows {
		members[i] = m.Member
	}
	members = sorted(members)
	return teamDocument{Key: row.Key, Name: &row.Name, Members: &members}, err
}

// proposedTeam returns what a change makes of a team: whole lists, so that an approver sees who belongs to it then.
func proposedTeam(current teamDocument, u team.Update) teamDocument {
	out := teamDocument{Key: current.Key, Name: u.Name}
	if u.Members == nil && len(u.Add)+len(u.Remove) == 0 {
		return out
	}
	// Members are removed before others are added, in the order of team.Update.
	members := *current.Members
	if u.Members != nil {
		members = *u.Members
	}
	members = slices.DeleteFunc(sorted(members), func(m string) bool { return slices.Contains(u.Remove, m) })
	members = sorted(append(members, u.Add...))
	out.Members = &members
	return out
}

// of returns the values of the fields that other has.
func (t teamDocument) of(other teamDocument) teamDocument {
	out := teamDocument{Key: t.Key}
	if other.Name != nil {
		out.Name = t.Name
	}
	if other.Members != nil {
		out.Members = t.Members
	}
	return out
}

// sorted returns a copy of a list of actors in their order, each once.
func sorted(actors []string) []string {
	out := append([]string{}, actors...)
	slices.Sort(out)
	return slices.Compact(out)
}

// isTeam reports whether a change request is about a team.
func isTeam(k models.ChangeKind) bool {
	return k == models.ChangeTeamCreate || k == models.ChangeTeamUpdate || k == models.ChangeTeamDelete
}

// teamOf returns the key of the team that a change request is about.
func teamOf(c models.Change) (string, error) {
	var base, proposed teamDocument
	if err := json.Unmarshal(c.Base, &base); err != nil {
		return "", err
	}
	err := json.Unmarshal(c.Proposed, &proposed)
	if base.Key != "" {
		return base.Key, err
	}
	return proposed.Key, err
}

// teamBase is inForce of a change of a team. It cannot be made if a new member can no longer review, or if the team is required
// and is to be deleted.
func (t targets) teamBase(ctx context.Context, c models.Change) (any, bool, error) {
	var proposed teamDocument
	if err := json.Unmarshal(c.Proposed, &proposed); err != nil {
		return nil, false, err
	}
	scope := scopeOf(c)
	// A new team has no row that could be locked: its unique key decides between concurrent requests.
	if c.Kind == models.ChangeTeamCreate {
		rows, err := team.ByName(ctx, t.Q, scope, []string{c.Target})
		if err != nil || len(rows) > 0 {
			return nil, false, err
		}
		possible, err := t.reviewers(ctx, scope, *proposed.Members, nil)
		return teamDocument{}, possible, err
	}
	current, err := teamInForce(ctx, t.Q, scope, c.Target, t.team)
	if errors.Is(err, pg.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	// No policy that names the team can be activated until this transaction ends, because the row is locked.
	if c.Kind == models.ChangeTeamDelete {
		policies, holds, err := team.UsesOfTeam(ctx, t.Q, scope, current.Key)
		return current, policies+holds == 0, err
	}
	base, possible := current.of(proposed), true
	if proposed.Members != nil {
		possible, err = t.reviewers(ctx, scope, *proposed.Members, *current.Members)
	}
	return base, possible, err
}

// reviewers reports whether all new members can review.
func (t targets) reviewers(ctx context.Context, scope pg.Scope, members, before []string) (bool, error) {
	fresh := slices.DeleteFunc(slices.Clone(members), func(m string) bool { return slices.Contains(before, m) })
	able, err := team.ReviewersOfTeams(ctx, t.Q, scope, fresh, t.at)
	return len(able) == len(fresh), err
}

// applyTeam makes a change of a team in the caller's transaction.
func applyTeam(ctx context.Context, q *pg.Q, c models.Change, by action.Author) error {
	var in teamDocument
	if err := json.Unmarshal(c.Proposed, &in); err != nil {
		return err
	}
	// The operation checks again what was checked when the change was requested: the key, the names and the new members.
	op := team.Operation{Q: q, Scope: by.Scope, At: by.At, By: team.By{Actor: by.Actor, RequestID: by.RequestID, WorkflowID: by.WorkflowID}}
	switch c.Kind {
	case models.ChangeTeamCreate:
		_, err := op.Create(ctx, team.Draft{Key: in.Key, Name: *in.Name, Members: *in.Members})
		return err
	case models.ChangeTeamDelete:
		return op.Delete(ctx, c.Target)
	default:
		_, err := op.Update(ctx, c.Target, team.Update{Name: in.Name, Members: in.Members})
		return err
	}
}
