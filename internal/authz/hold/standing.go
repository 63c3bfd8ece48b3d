package hold

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/team"
)

// The reasons for which an approval by a reviewer would not count.
const (
	ObstacleSelf  = "self"  // the reviewer requested it, and self-review is barred
	ObstacleTeam  = "team"  // the reviewer is in none of the teams
	ObstacleGiven = "given" // the reviewer approved it already
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
	// Obstacle is why an approval by the caller would not count; empty if it would.
	Obstacle string
	// As has the keys of the teams for which the caller may approve.
	As []string
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
	if b.teams, err = team.TeamsOf(ctx, s.store.Q, p.Store(), actorsOf(append(slices.Clone(given), caller))); err != nil {
		return Standing{}, err
	}
	out := b.standing(given)
	b.describe(&out, caller, given)
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

// standing counts the approvals, and says who gave which. A member of several teams fills the slot that the others cannot, so that an
// approval may move from one team to another when the next one is given.
func (b ballot) standing(approvers []Approver) Standing {
	tally := b.count(approvers)
	actors, voters := b.voters(approvers)
	filled := assign(b.slots(), voters)
	by := func(slot int) []string {
		var out []string
		for _, voter := range filled[slot] {
			out = append(out, actors[voter])
		}
		return out
	}
	out := Standing{Given: tally.Given, Required: tally.Required}
	for i, w := range tally.Teams {
		out.Teams = append(out.Teams, TeamStanding{w, by(i)})
	}
	last := len(b.wanted)
	// The last slots are those of no team: zero unless the policy requires more approvals than its teams give.
	out.Others = TeamStanding{Wanted{Approvals: b.slots()[last], Given: len(filled[last])}, by(last)}
	return out
}

// describe adds what the caller can do. Someone who has approved already differs from an outsider, because a second approval
// by the same principal would not count for any team.
func (b ballot) describe(out *Standing, caller Approver, approvers []Approver) {
	able := b.fills(caller, true)
	for i, w := range b.wanted {
		if able[i] {
			out.As = append(out.As, w.Team)
		}
	}
	// The absent person matters only if the caller's own teams would not do.
	if !slices.Equal(able, b.fills(caller, false)) {
		out.Absent = caller.Absent
	}
	switch {
	case slices.ContainsFunc(approvers, func(a Approver) bool { return a.Principal == caller.Principal }):
		out.Obstacle = ObstacleGiven
	case !b.admits(caller):
		out.Obstacle = ObstacleTeam
	}
}
