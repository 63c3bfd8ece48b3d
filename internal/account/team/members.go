package team

import (
	"context"
	"fmt"
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// append adds an event to the log in the transaction of the change.
func (op Operation) append(ctx context.Context, data events.Data) error {
	return events.Append(ctx, op.Q, events.Entry{
		Scope: op.Scope, At: op.At, Actor: op.By.Actor, RequestID: op.By.RequestID, WorkflowID: op.By.WorkflowID, Data: data,
	})
}

// update changes a locked team and records team.updated if anything changed. Members are removed first, so that a full team can
// exchange some in one change.
func (op Operation) update(ctx context.Context, row models.Team, u Update) (bool, error) {
	before, err := op.members(ctx, row)
	if err != nil {
		return false, err
	}
	// A whole list is a change like any other, so that its audit entry names who joined and who left.
	if u.Members != nil {
		u.Add = *u.Members
		u.Remove = slices.DeleteFunc(slices.Clone(before), func(m string) bool { return slices.Contains(*u.Members, m) })
	}
	removed, err := op.remove(ctx, row, u.Remove)
	if err != nil {
		return false, err
	}
	left := slices.DeleteFunc(slices.Clone(before), func(m string) bool { return slices.Contains(removed, m) })
	added, err := op.add(ctx, row, left, u.Add)
	if err != nil {
		return false, err
	}
	name, renamed, err := op.rename(ctx, row, u.Name)
	if err != nil || !renamed && len(added)+len(removed) == 0 {
		return false, err
	}
	after, err := op.members(ctx, row)
	if err != nil {
		return false, err
	}
	change, err := events.NewChange(document(row.Name, before), document(name, after))
	if err != nil {
		return false, err
	}
	return true, op.append(ctx, events.TeamUpdatedData{Team: row.ID, Key: row.Key, Added: added, Removed: removed, Change: change})
}

// document returns what the digests of a change cover: the name and the sorted members. Anyone with both can recompute them.
func document(name string, members []string) any {
	return map[string]any{"name": name, "members": append([]string{}, members...)}
}

// rename changes the name of a team if it is given, and reports whether it did. The same name is no change: it would be an entry of
// the audit log without a difference.
func (op Operation) rename(ctx context.Context, row models.Team, name *string) (string, bool, error) {
	if name == nil {
		return row.Name, false, nil
	}
	given, err := checkName(*name)
	if err != nil {
		return "", false, err
	}
	renamed, err := renameTeam(ctx, op.Q, op.Scope, row.ID, given)
	return given, renamed, err
}

// members returns the actors of a team in their order, which makes the digests of a change reproducible.
func (op Operation) members(ctx context.Context, row models.Team) ([]string, error) {
	rows, err := MembersOfTeam(ctx, op.Q, op.Scope, row.ID)
	out := make([]string, len(rows))
	for i, m := range rows {
		out[i] = m.Member
	}
	return out, err
}

// add adds the actors that the team does not have and returns them. Every one must be able to review in the environment: a typing
// error would otherwise be a member who never approves. Members that the team has already are not checked again, so that one who
// can no longer review does not keep the others from being changed.
func (op Operation) add(ctx context.Context, row models.Team, before, actors []string) ([]string, error) {
	fresh := slices.DeleteFunc(slices.Clone(actors), func(a string) bool { return slices.Contains(before, a) })
	slices.Sort(fresh)
	fresh = slices.Compact(fresh)
	if len(before)+len(fresh) > MaxMembers {
		return nil, problem.Invalid([]any{"body", "members"}, fmt.Sprintf("a team has at most %d members", MaxMembers), "too_long")
	}
	able, err := ReviewersOfTeams(ctx, op.Q, op.Scope, fresh, op.At)
	if err != nil {
		return nil, err
	}
	for _, actor := range fresh {
		if !slices.Contains(able, actor) {
			msg := fmt.Sprintf("%q cannot review in this environment; give person:prs_... of a reviewer, or credential:crd_... of a key with the permission review", actor)
			return nil, problem.Invalid([]any{"body", "members", slices.Index(actors, actor)}, msg, "unknown_member")
		}
		if _, err := addTeamMember(ctx, op.Q, models.TeamMember{
			TeamID: row.ID, TenantID: row.TenantID, EnvironmentID: row.EnvironmentID, Member: actor, AddedAt: op.At, AddedBy: op.By.Actor,
		}); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

func (op Operation) remove(ctx context.Context, row models.Team, actors []string) ([]string, error) {
	var out []string
	for _, actor := range actors {
		removed, err := removeTeamMember(ctx, op.Q, op.Scope, row.ID, actor)
		if err != nil {
			return nil, err
		}
		if removed {
			out = append(out, actor)
		}
	}
	slices.Sort(out)
	return out, nil
}
