package hold

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	reviewteams "github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Wanted has the approvals that a hold requires of one team, and how many of them are given.
type Wanted struct {
	Group     string `json:"group"` // the key of the team
	Approvals int    `json:"approvals"`
	Given     int    `json:"given"`
	// EscalatesTo is the team whose members may give the approvals as well from EscalatesAt on; both are null without one.
	EscalatesTo *string `json:"escalates_to"`
	EscalatesAt *string `json:"escalates_at"`
	Escalated   bool    `json:"escalated"` // EscalatesAt has passed
}

// Tally counts the approvals of a hold. Each counts once: a person who belongs to several teams fills one slot of one team.
type Tally struct {
	Given, Required int
	Teams           []Wanted // nil for a hold that requires no team
}

// Open returns the keys of the teams that still have to approve, escalations included.
func (t Tally) Open() []string {
	var out []string
	for _, w := range t.Teams {
		if w.Given < w.Approvals {
			out = append(out, w.Group)
			if w.Escalated {
				out = append(out, *w.EscalatesTo)
			}
		}
	}
	return out
}

// ballot has everything that decides whose approvals of one hold count: the teams that it requires, the members of each, and the person who may
// not approve, even by a deputy.
type ballot struct {
	required int
	wanted   []models.HoldTeam
	// teams has the keys of the teams of each actor.
	teams map[string][]string
	// barred is whom the requester counts as, or counted, if self-review is barred.
	barred identity.Behind
	// at decides which escalations are in force.
	at time.Time
}

// slots returns the number of approvals of each team and, last, those that any reviewer may give.
func (b ballot) slots() []int {
	out := make([]int, 0, len(b.wanted)+1)
	left := b.required
	for _, w := range b.wanted {
		out = append(out, w.Approvals)
		left -= w.Approvals
	}
	return append(out, max(left, 0))
}

// fills returns the slots that an approver may fill, in the order of slots. byDeputy also counts the teams of the absent person. An
// escalation is in force from its time on, whether or not the workflow has recorded it.
func (b ballot) fills(a Approver, byDeputy bool) []bool {
	out := make([]bool, 0, len(b.wanted)+1)
	for _, w := range b.wanted {
		keys := []string{w.Team}
		if w.EscalateAt != nil && !b.at.Before(*w.EscalateAt) {
			keys = append(keys, *w.EscalateTeam)
		}
		in := func(actor string) bool {
			return slices.ContainsFunc(b.teams[actor], func(key string) bool { return slices.Contains(keys, key) })
		}
		out = append(out, in(a.Reviewer) || byDeputy && a.Absent != "" && !b.bars(a.AbsentPrincipal) && in(a.Absent))
	}
	return append(out, true)
}

// bars reports whether a principal may not approve, even by a deputy.
func (b ballot) bars(principal string) bool {
	return b.barred.Meets(identity.Behind{Principal: principal})
}

// voters returns, for each person among the approvers, who approved first and the slots that they may fill. A deputy fills a slot in the place of the
// absent person only if that person has not approved, and only one deputy does.
func (b ballot) voters(approvers []Approver) (actors []string, may [][]bool) {
	var order []string
	can := map[string][]bool{}
	used := map[string]bool{}
	// Approvals of absent people themselves come first, whenever they were given: one's own vote replaces one's deputy's.
	for _, a := range approvers {
		used[a.Principal] = true
	}
	for _, a := range approvers {
		fills := b.fills(a, !used[a.AbsentPrincipal])
		used[a.AbsentPrincipal] = true
		if can[a.Principal] == nil {
			order, can[a.Principal] = append(order, a.Principal), make([]bool, len(fills))
			actors = append(actors, a.Reviewer)
		}
		for i, able := range fills {
			can[a.Principal][i] = can[a.Principal][i] || able
		}
	}
	may = make([][]bool, len(order))
	for i, principal := range order {
		may[i] = can[principal]
	}
	return actors, may
}

// assign fills as many slots as the voters can, each by a different voter (augmenting paths, Kuhn 1955), and returns who fills
// each. The slots number at most five, so that the cost is bounded by the number of approvals.
func assign(slots []int, voters [][]bool) [][]int {
	filled := make([][]int, len(slots))
	var place func(voter int, seen []bool) bool
	place = func(voter int, seen []bool) bool {
		for i, may := range voters[voter] {
			if !may || seen[i] {
				continue
			}
			seen[i] = true
			if len(filled[i]) < slots[i] {
				filled[i] = append(filled[i], voter)
				return true
			}
			for j, other := range filled[i] {
				if place(other, seen) {
					filled[i][j] = voter
					return true
				}
			}
		}
		return false
	}
	// An augmenting path moves voters between slots and never empties one: each voter who can be placed is.
	for voter := range voters {
		place(voter, make([]bool, len(slots)))
	}
	return filled
}

// count returns the tally of the approvals.
func (b ballot) count(approvers []Approver) Tally {
	out := Tally{Required: b.required}
	_, voters := b.voters(approvers)
	given := assign(b.slots(), voters)
	for i, w := range b.wanted {
		team := Wanted{Group: w.Team, Approvals: w.Approvals, Given: len(given[i]), EscalatesTo: w.EscalateTeam, EscalatesAt: apitime.OptionalTime(w.EscalateAt)}
		team.Escalated = w.EscalateAt != nil && !b.at.Before(*w.EscalateAt)
		out.Teams = append(out.Teams, team)
	}
	for _, by := range given {
		out.Given += len(by)
	}
	return out
}

// tally counts the approvals of one hold at a time.
func (s *Service) tally(ctx context.Context, c Case, at time.Time) (Tally, error) {
	given, err := approversOf(ctx, s.store.Q, c.scope(), at, c.AuthorizationID)
	if err != nil {
		return Tally{}, err
	}
	return tallyOf(ctx, s.store.Q, c, at, given)
}

// tallyOf counts the approvals that are given of one hold at a time.
func tallyOf(ctx context.Context, q *pg.Q, c Case, at time.Time, given []Approver) (Tally, error) {
	b, err := ballotOf(ctx, q, c, at)
	if err != nil {
		return Tally{}, err
	}
	if len(b.wanted) > 0 {
		if b.teams, err = reviewteams.TeamsOf(ctx, q, c.scope(), actorsOf(given)); err != nil {
			return Tally{}, err
		}
	}
	return b.count(given), nil
}

// ballotOf returns what a hold requires of teams, without their members.
func ballotOf(ctx context.Context, q *pg.Q, c Case, at time.Time) (ballot, error) {
	b := ballot{required: c.ApprovalsRequired, wanted: c.Teams, at: at}
	if len(b.wanted) == 0 {
		return b, nil
	}
	var err error
	b.barred, err = barredFrom(ctx, q, c)
	return b, err
}

// barredFrom returns who is behind the requester if self-review of the hold is barred; no one otherwise.
func barredFrom(ctx context.Context, q *pg.Q, c Case) (identity.Behind, error) {
	if barred, err := barsSelfReview(ctx, q, c); err != nil || !barred {
		return identity.Behind{}, err
	}
	return identity.PrincipalBehind(ctx, q, c.scope(), c.requester())
}

// barsSelfReview reports whether self-review of a hold is barred: by its policy, or by the current settings of its environment.
func barsSelfReview(ctx context.Context, q *pg.Q, c Case) (bool, error) {
	if c.SelfReviewBarred {
		return true, nil
	}
	env, err := tenancy.GetEnvironment(ctx, q, c.scope())
	return env.BarSelfReview, err
}

// refuseOutsider reports at once that an approval would not count, instead of recording it in vain. It refuses an approval by a reviewer who belongs to none of the teams that the hold requires, unless it requires
// more approvals than those of its teams. Every reviewer may reject.
func (s *Service) refuseOutsider(ctx context.Context, c Case, a Approver) error {
	b, err := ballotOf(ctx, s.store.Q, c, s.clock.Now())
	if err != nil || len(b.wanted) == 0 {
		return err
	}
	if a, err = standingOf(ctx, s.store.Q, c.scope(), a.Reviewer, a.Principal, b.at); err != nil {
		return err
	}
	if err := checkDeputy(ctx, s.store.Q, c.scope(), a); err != nil {
		return err
	}
	if b.teams, err = reviewteams.TeamsOf(ctx, s.store.Q, c.scope(), actorsOf([]Approver{a})); err != nil || b.admits(a) {
		return err
	}
	// The names of teams are no secret among reviewers: the queue shows them as well.
	var names []string
	for _, w := range b.count(nil).Open() {
		names = append(names, `"`+w+`"`)
	}
	return problem.Newf(problem.Forbidden, "The hold requires approvals of the team %s, and only its members, or the deputy of an absent one, can approve. "+
		"Ask a member to approve it. Rejecting it does not require a team.", strings.Join(names, " or "))
}

// admits reports whether the approver could fill a slot, filled or not.
func (b ballot) admits(a Approver) bool {
	slots := b.slots()
	for i, may := range b.fills(a, true) {
		if may && slots[i] > 0 {
			return true
		}
	}
	return false
}

// actorsOf returns the actors whose teams matter: the approvers themselves, and the absent people in whose place they may approve.
func actorsOf(approvers []Approver) []string {
	var out []string
	for _, a := range approvers {
		out = append(out, a.Reviewer)
		if a.Absent != "" {
			out = append(out, a.Absent)
		}
	}
	return out
}

// addTeams adds the teams that the listed holds require, and corrects the count of their approvals. A page without such a hold costs
// one query more, any other five, however many holds it has.
func (s *Service) addTeams(ctx context.Context, p identity.Principal, rows []Queued, env models.Environment) error {
	wanted, err := s.wantedBy(ctx, p, rows)
	if err != nil || len(wanted) == 0 {
		return err
	}
	now := s.clock.Now()
	approvers, err := approversOf(ctx, s.store.Q, p.Store(), now, slices.Collect(maps.Keys(wanted))...)
	if err != nil {
		return err
	}
	caller, err := standingOfHolds(ctx, s.store.Q, p.Store(), p.Actor(), now)
	if err != nil {
		return err
	}
	teams, err := reviewteams.TeamsOf(ctx, s.store.Q, p.Store(), actorsOf(append(slices.Clone(approvers), caller)))
	if err != nil {
		return err
	}
	barred, err := s.barredIn(ctx, p, rows, env)
	for i, r := range rows {
		if len(wanted[r.AuthorizationID]) == 0 {
			continue
		}
		b := ballot{required: r.ApprovalsRequired, wanted: wanted[r.AuthorizationID], teams: teams, barred: barred[r.CredentialID], at: now}
		of := slices.DeleteFunc(slices.Clone(approvers), func(a Approver) bool { return a.AuthorizationID != r.AuthorizationID })
		tally := b.count(of)
		rows[i].Teams, rows[i].Approvals, rows[i].Approvable = tally.Teams, tally.Given, r.Approvable && b.admits(caller)
	}
	return err
}

// wantedBy returns what the listed holds require of teams, by hold; holds without teams are left out.
func (s *Service) wantedBy(ctx context.Context, p identity.Principal, rows []Queued) (map[string][]models.HoldTeam, error) {
	held := make([]string, len(rows))
	for i, r := range rows {
		held[i] = r.AuthorizationID
	}
	required, err := wantedTeams(ctx, s.store.Q, p.Store(), held...)
	out := map[string][]models.HoldTeam{}
	for _, w := range required {
		out[w.AuthorizationID] = append(out[w.AuthorizationID], w)
	}
	return out, err
}

// barredIn returns who is behind the credentials that requested holds which bar self-review.
func (s *Service) barredIn(ctx context.Context, p identity.Principal, rows []Queued, env models.Environment) (map[string]identity.Behind, error) {
	var requesters []string
	for _, r := range rows {
		if bars(r.SelfReviewBarred, env) {
			requesters = append(requesters, r.CredentialID)
		}
	}
	return identity.PrincipalsBehind(ctx, s.store.Q, p.Store(), requesters)
}
