package hold

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/identity"
)

// The reasons for which an approval by a reviewer would not count.
const (
	ObstacleSelf  = "self"  // the reviewer requested it, and self-review is barred
	ObstacleTeam  = "team"  // the reviewer is in none of the teams
	ObstacleGiven = "given" // the reviewer approved it already
	ObstacleStep  = "step"  // the reviewer approved an earlier step
	// The hold asks for two people, and no second operator had confirmed the reviewer when it was opened.
	ObstacleUnconfirmed = "unconfirmed"
)

// TeamStanding is one team that a hold requires, with the actors whose approvals it has.
type TeamStanding struct {
	Wanted
	By []string
}

// Standing is how far the approvals of a hold are, and what the caller can add.
type Standing struct {
	Given, Required int
	Teams           []TeamStanding // nil for a hold that requires no team
	// Others are approvals that any reviewer may give, if more are required than those of the teams.
	Others TeamStanding
	// Stages are the steps of the hold, and Step is the name of the one that Teams and Others are of; nil and empty for a hold without steps.
	Stages []Stage
	Step   string
	// Obstacle is why an approval by the caller would not count; empty if it would.
	Obstacle string
	// As has the keys of the teams for which the caller may approve.
	As []string
	// MayBreakGlass reports whether the caller may approve the hold alone, as a member of the team that the policy names.
	MayBreakGlass bool
	// Absent is the person in whose place the caller may approve, such as person:prs_...; empty for none.
	Absent string
}

// Standing returns the standing of a hold and of the caller. It reads what an approval reads, at the same time, so that the page of a
// hold and the refusal of an approval agree. It decides nothing: a review is checked when it is made.
func (s *Service) Standing(ctx context.Context, p identity.Principal, id string) (Standing, error) {
	c, err := readCase(ctx, s.store.Q, p.Store(), id, nil)
	if err != nil {
		return Standing{}, err
	}
	now := s.clock.Now()
	b, err := ballotOf(ctx, s.store.Q, c, now)
	if err != nil {
		return Standing{}, err
	}
	given, err := approversOf(ctx, s.store.Q, p.Store(), now, id)
	if err != nil {
		return Standing{}, err
	}
	behind, err := identity.ActorsBehind(ctx, s.store.Q, p.Store(), p.Actor(), c.requester())
	if err != nil {
		return Standing{}, err
	}
	caller, err := standingOf(ctx, s.store.Q, p.Store(), p.Actor(), behind[p.Actor()].Principal, now)
	if err != nil {
		return Standing{}, err
	}
	if b.membership, err = membersOf(ctx, s.store.Q, p.Store(), now, actorsOf(append(slices.Clone(given), caller)), c.Teams...); err != nil {
		return Standing{}, err
	}
	out := b.standing(given)
	b.describe(&out, caller, given)
	if out.MayBreakGlass, err = s.mayBreakGlass(ctx, c, caller); err != nil {
		return out, err
	}
	own, err := s.selfReview(ctx, c, behind[p.Actor()], behind[c.requester()])
	if err != nil {
		return out, err
	}
	counts, err := countsPerson(ctx, s.store.Q, c.Hold, p.Actor())
	switch {
	case own:
		out.Obstacle = ObstacleSelf
	case err == nil && !counts:
		out.Obstacle = ObstacleUnconfirmed
	}
	return out, err
}

// standing counts the approvals, and says who gave which in the open step. A member of several teams fills the slot that the others cannot, so that an
// approval may move from one team to another when the next one is given.
func (b ballot) standing(approvers []Approver) Standing {
	approvers = b.certain(approvers)
	tally := b.count(approvers)
	polls, given := b.polls(approvers)
	at := min(tally.Open, len(polls)-1)
	open := polls[at]
	actors, voters := open.voters(given[at])
	filled := assign(open.slots(), voters)
	by := func(slot int) []string {
		var out []string
		for _, voter := range filled[slot] {
			out = append(out, actors[voter])
		}
		return out
	}
	out := Standing{Given: tally.Given, Required: tally.Required, Stages: tally.Stages, Step: open.row.Name}
	for i, w := range tally.Teams {
		out.Teams = append(out.Teams, TeamStanding{w, by(i)})
	}
	last := len(open.wanted)
	// The last slots are those of no team: zero unless the policy requires more approvals than its teams give.
	out.Others = TeamStanding{Wanted{Approvals: open.slots()[last], Given: len(filled[last])}, by(last)}
	return out
}

// describe adds what the caller can do. Someone who has approved already differs from an outsider, because a second approval
// by the same principal would not count for any team.
func (b ballot) describe(out *Standing, caller Approver, approvers []Approver) {
	open, position := b.open(approvers)
	able := open.fills(caller, true)
	for i := range open.wanted {
		if able[i] {
			out.As = append(out.As, out.Teams[i].Of())
		}
	}
	// The absent person matters only if the caller's own teams would not do.
	if open.byDeputy(caller) {
		out.Absent = caller.Absent
	}
	in := min(position, len(b.steps)-1)
	switch {
	case slices.ContainsFunc(approvers, func(a Approver) bool { return a.Principal == caller.Principal && a.Step == in }):
		out.Obstacle = ObstacleGiven
	case open.spent[caller.Principal]:
		out.Obstacle = ObstacleStep
	case !open.admits(caller):
		out.Obstacle = ObstacleTeam
	}
}
