package hold

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// Awaited returns those of the people, by id, whose approval would bring a pending hold closer to its end: reviewers in good standing who
// may review it, have not approved it, and fill a slot that is open. With escalated it returns only those who may approve because the
// hold was escalated to a team of theirs.
func (s *Service) Awaited(ctx context.Context, h models.Hold, people []string, escalated bool) ([]string, error) {
	now := s.clock.Now()
	if len(people) == 0 || Effective(h, now) != models.HoldPending {
		return nil, nil
	}
	c, err := readCase(ctx, s.store.Q, pg.Scope{Tenant: h.TenantID, Environment: h.EnvironmentID}, h.AuthorizationID, nil)
	if err != nil {
		return nil, err
	}
	b, candidates, err := s.candidates(ctx, c, people)
	if err != nil {
		return nil, err
	}
	approvers, err := approversOf(ctx, s.store.Q, c.scope(), now, h.AuthorizationID)
	if err != nil {
		return nil, err
	}
	if b.membership, err = membersOf(ctx, s.store.Q, c.scope(), now, actorsOf(slices.Concat(approvers, candidates)), c.Teams...); err != nil {
		return nil, err
	}
	// Whether a slot is open depends on who fills the others: members of several teams move between them.
	given := b.count(approvers).Given
	open, position := b.open(approvers)
	var out []string
	for _, c := range candidates {
		c.Step = min(position, len(b.steps)-1)
		approved := slices.ContainsFunc(approvers, func(a Approver) bool { return a.Principal == c.Principal && a.Step == c.Step })
		if approved || b.barred.MayBeSame(c.behind()) || escalated && !open.admitsByEscalation(c) {
			continue
		}
		if b.count(append(slices.Clone(approvers), c)).Given > given {
			out = append(out, c.Reviewer[len("person:"):])
		}
	}
	return out, nil
}

// candidates returns the ballot of a hold without its members, and the people who are reviewers in good standing, whom the hold counts, as approvers.
func (s *Service) candidates(ctx context.Context, c Case, people []string) (ballot, []Approver, error) {
	scope, now := c.scope(), s.clock.Now()
	b, err := ballotOf(ctx, s.store.Q, c, now)
	// The ballot of a hold that requires no team does not say who requested it.
	if err == nil && !b.requiresTeams() {
		b.barred, err = barredFrom(ctx, s.store.Q, c)
	}
	if err != nil {
		return b, nil, err
	}
	actors := make([]string, len(people))
	for i, p := range people {
		actors[i] = "person:" + p
	}
	able, err := team.ReviewersOfTeams(ctx, s.store.Q, scope, actors, now)
	if err != nil {
		return b, nil, err
	}
	slices.Sort(able)
	var out []Approver
	for _, actor := range able {
		a, err := standingOfHolds(ctx, s.store.Q, scope, actor, now)
		if err != nil {
			return b, nil, err
		}
		counts, err := countsPerson(ctx, s.store.Q, c.Hold, actor)
		if err != nil {
			return b, nil, err
		}
		if counts {
			out = append(out, a)
		}
	}
	return b, out, nil
}

// admitsByEscalation reports whether the approver belongs to a team that a part of the hold is escalated to, or is the deputy of an absent
// member.
func (p poll) admitsByEscalation(a Approver) bool {
	// The same rules for members and deputies apply to the second team as to the first, so that it stands in the first one's place.
	var escalated []models.HoldTeam
	for _, w := range p.wanted {
		if w.EscalateAt != nil && !p.at.Before(*w.EscalateAt) {
			escalated = append(escalated, models.HoldTeam{Team: *w.EscalateTeam, Approvals: w.Approvals})
		}
	}
	fills := poll{step: step{wanted: escalated}, ballot: p.ballot}.fills(a, true)
	return slices.Contains(fills[:len(escalated)], true)
}
