package hold

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/staff"
	reviewteams "github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

// reportLine is how many managers above an approver are looked at.
const reportLine = 10

// NamedApprover is the person whom a request names as an approver.
type NamedApprover struct {
	NamedBy string  `json:"named_by"` // policy.ManagerOfRequester or a property of the context
	Person  *string `json:"person"`   // id; nil if the fallback team approves, and before the step opens
	Reason  *string `json:"reason"`   // why the fallback team approves; nil if it does not
}

// FixApprovers fixes who approves the entries of a step that name a person, as the step opens. It changes the rows of the step and signs none.
func FixApprovers(ctx context.Context, q *pg.Q, h models.Hold, teams []models.HoldTeam, step int) error {
	for i, t := range teams {
		if t.Step != step || t.NamedBy() == "" {
			continue
		}
		person, why, err := approverOf(ctx, q, h, t)
		if err != nil {
			return err
		}
		if why != "" {
			teams[i].FallbackReason = &why
		} else {
			teams[i].Person = &person
		}
	}
	return nil
}

// approverOf returns the person who approves an entry, or why its fallback team does.
func approverOf(ctx context.Context, q *pg.Q, h models.Hold, t models.HoldTeam) (person, why string, err error) {
	requester := optional(h.RequesterPerson)
	switch {
	case t.NamedBy() == policy.ManagerOfRequester && requester == "":
		return "", reason.RequesterUnknown, nil
	case t.NamedBy() == policy.ManagerOfRequester:
		if person, err = staff.Manager(ctx, q, h.TenantID, requester); err != nil {
			return "", "", err
		}
	case t.Candidate == nil:
		return "", reason.ApproverNotNamed, nil
	default:
		person = *t.Candidate
	}
	if person == "" {
		return "", reason.ApproverUnknown, nil
	}
	scope := pg.Scope{Tenant: h.TenantID, Environment: h.EnvironmentID}
	if requester != "" {
		why, err := dependsOn(ctx, q, h, person, requester)
		if err != nil || why != "" {
			return "", why, err
		}
	}
	if may, err := isReviewer(ctx, q, scope, personActor(person)); err != nil || !may {
		return "", reason.ApproverWithoutAuthority, err
	}
	return person, "", nil
}

// dependsOn returns why a person may not approve what the requester requests: they are the same person, or, if self-review is barred, the person
// reports to the requester. It is empty if they may.
func dependsOn(ctx context.Context, q *pg.Q, h models.Hold, person, requester string) (why string, err error) {
	scope := pg.Scope{Tenant: h.TenantID, Environment: h.EnvironmentID}
	same := func(a string) (bool, error) {
		behind, err := identity.ActorsBehind(ctx, q, scope, personActor(a), personActor(requester))
		return behind[personActor(a)].MayBeSame(behind[personActor(requester)]), err
	}
	if is, err := same(person); err != nil || is {
		return reason.ApproverIsRequester, err
	}
	above := person
	for range reportLine {
		if !h.SelfReviewBarred {
			break
		}
		if above, err = staff.Manager(ctx, q, h.TenantID, above); err != nil || above == "" {
			return "", err
		}
		if is, err := same(above); err != nil || is {
			return reason.ApproverReportsToRequester, err
		}
	}
	return "", nil
}

func personActor(id string) string { return "person:" + id }

// membership says which teams actors belong to, and which of the people who are named as approvers may approve.
type membership struct {
	// teams has the keys of the teams of each actor; of an actor who is a named person, also that of the person.
	teams map[string][]string
	// able are the ids of named people who are reviewers in good standing.
	able map[string]bool
}

// membersOf returns the membership of actors as far as these rows require it.
func membersOf(ctx context.Context, q *pg.Q, s pg.Scope, at time.Time, actors []string, rows ...models.HoldTeam) (membership, error) {
	teams, err := reviewteams.TeamsOf(ctx, q, s, actors)
	m := membership{teams: teams, able: map[string]bool{}}
	if err != nil {
		return m, err
	}
	var people []string
	for _, t := range rows {
		if t.Person != nil && !slices.Contains(people, personActor(*t.Person)) {
			people = append(people, personActor(*t.Person))
		}
	}
	if len(people) == 0 {
		return m, nil
	}
	able, err := reviewteams.ReviewersOfTeams(ctx, q, s, people, at)
	if err != nil {
		return m, err
	}
	behind, err := identity.ActorsBehind(ctx, q, s, slices.Concat(able, actors)...)
	if err != nil {
		return m, err
	}
	if m.teams == nil {
		m.teams = map[string][]string{}
	}
	for _, person := range able {
		m.able[personOf(person)] = true
		for _, actor := range actors {
			if actor == person || behind[actor].SamePrincipal(behind[person]) {
				m.teams[actor] = append(m.teams[actor], models.ApproverPrefix+personOf(person))
			}
		}
	}
	return m, nil
}

// keys returns the keys of the teams whose members may give the approvals of a row, without its escalation.
func (m membership) keys(t models.HoldTeam) []string {
	switch {
	case t.NamedBy() == "":
		return []string{t.Team}
	case m.named(t):
		return []string{models.ApproverPrefix + *t.Person}
	default:
		return []string{optional(t.FallbackTeam)}
	}
}

// named reports whether the person of a row approves it, and not its fallback team.
func (m membership) named(t models.HoldTeam) bool { return t.Person != nil && m.able[*t.Person] }

// approver describes whom a row names; nil for a row about a team. A person who has lost their authority since the step opened approves no more.
func (m membership) approver(t models.HoldTeam) *NamedApprover {
	if t.NamedBy() == "" {
		return nil
	}
	out := &NamedApprover{NamedBy: t.NamedBy(), Reason: t.FallbackReason}
	switch {
	case m.named(t):
		out.Person = t.Person
	case t.Person != nil:
		lost := reason.ApproverWithoutAuthority
		out.Reason = &lost
	}
	return out
}
