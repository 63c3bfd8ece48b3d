package hold

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
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
	// Approver is whom the request names; Group is then the team that approves instead. It is omitted for an entry that names a team.
	Approver *NamedApprover `json:"approver,omitempty"`
}

// Of returns who gives the approvals: the key of a team, or what names the one person who approves.
func (w Wanted) Of() string {
	if w.Approver != nil && w.Approver.Person != nil {
		return w.Approver.NamedBy
	}
	return w.Group
}

// missing returns the keys of the teams that still have to approve, escalations included.
func missing(teams []Wanted) []string {
	var out []string
	for _, w := range teams {
		if w.Given < w.Approvals {
			out = append(out, w.Of())
			if w.Escalated {
				out = append(out, *w.EscalatesTo)
			}
		}
	}
	return out
}

// slots returns the number of approvals of each team and, last, those that any reviewer may give.
func (p poll) slots() []int {
	out := make([]int, 0, len(p.wanted)+1)
	left := p.required
	for _, w := range p.wanted {
		out = append(out, w.Approvals)
		left -= w.Approvals
	}
	return append(out, max(left, 0))
}

// fills returns the slots that an approver may fill, in the order of slots. byDeputy also counts the teams of the absent person. An
// escalation is in force from its time on, whether or not the workflow has recorded it.
func (p poll) fills(a Approver, byDeputy bool) []bool {
	out := make([]bool, 0, len(p.wanted)+1)
	for _, w := range p.wanted {
		keys := p.keys(w)
		if w.EscalateAt != nil && !p.at.Before(*w.EscalateAt) {
			keys = append(keys, *w.EscalateTeam)
		}
		in := func(actor string) bool {
			return slices.ContainsFunc(p.teams[actor], func(key string) bool { return slices.Contains(keys, key) })
		}
		out = append(out, in(a.Reviewer) || byDeputy && a.Absent != "" && !p.barred.Is(a.AbsentPrincipal) && in(a.Absent))
	}
	return append(out, true)
}

// voters returns, for each person among the approvers, who approved first and the slots that they may fill. A deputy fills a slot in the place of the
// absent person only if that person has not approved, and only one deputy does.
func (p poll) voters(approvers []Approver) (actors []string, may [][]bool) {
	var order []string
	can := map[string][]bool{}
	used := maps.Clone(p.spent)
	// Approvals of absent people themselves come first, whenever they were given: one's own vote replaces one's deputy's.
	for _, a := range approvers {
		used[a.Principal] = true
	}
	for _, a := range approvers {
		fills := p.fills(a, !used[a.AbsentPrincipal])
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

// certain returns the approvers of whom no two can be one person, and of all such groups the one that fills most slots. A provider knows its own
// accounts apart, and a confirmation distinguishes invited people; but one person can have an account of each kind.
func (b ballot) certain(approvers []Approver) []Approver {
	if b.repeat && len(b.steps) > 1 {
		return b.certainInEach(approvers)
	}
	best := slices.DeleteFunc(slices.Clone(approvers), func(a Approver) bool { return a.ByProvider })
	if len(best) == len(approvers) {
		return best
	}
	seen := map[string]bool{}
	for _, provider := range approvers {
		for _, id := range provider.Providers {
			if seen[id] || !provider.ByProvider {
				continue
			}
			seen[id] = true
			group := slices.DeleteFunc(slices.Clone(approvers), func(a Approver) bool {
				return strings.HasPrefix(a.Principal, "person:") && !slices.Contains(a.Providers, id)
			})
			if b.fill(group).Given > b.fill(best).Given {
				best = group
			}
		}
	}
	return best
}

// certainInEach is certain of each step by itself.
func (b ballot) certainInEach(approvers []Approver) (out []Approver) {
	for i := range b.steps {
		mine := slices.DeleteFunc(slices.Clone(approvers), func(a Approver) bool { return a.Step != i })
		one := b
		one.repeat, one.steps = false, slices.Clone(b.steps)
		for other := range one.steps {
			if other != i {
				one.steps[other].required = 0
			}
		}
		out = append(out, one.certain(mine)...)
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
	if b.requiresTeams() {
		if b.membership, err = membersOf(ctx, q, c.scope(), at, actorsOf(given), c.Teams...); err != nil {
			return Tally{}, err
		}
	}
	return b.count(given), nil
}

// ballotOf returns what a hold requires of teams, without their members.
func ballotOf(ctx context.Context, q *pg.Q, c Case, at time.Time) (ballot, error) {
	b := ballot{steps: stepsOf(c.ApprovalsRequired, c.Steps, c.Teams), repeat: c.RepeatApprovers, at: at}
	if !b.requiresTeams() {
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

// refuseOutsider reports at once that an approval would not count, instead of recording it in vain. It refuses an approval by a reviewer who belongs to none of the teams that the open step requires, unless it requires
// more approvals than those of its teams, and by one who approved an earlier step. Every reviewer may reject.
func (s *Service) refuseOutsider(ctx context.Context, c Case, a Approver) error {
	b, err := ballotOf(ctx, s.store.Q, c, s.clock.Now())
	if err != nil || len(c.Steps) == 0 && !b.requiresTeams() {
		return err
	}
	given, err := approversOf(ctx, s.store.Q, c.scope(), b.at, c.AuthorizationID)
	if err != nil {
		return err
	}
	if a, err = standingOf(ctx, s.store.Q, c.scope(), a.Reviewer, a.Principal, b.at); err != nil {
		return err
	}
	if err := checkDeputy(ctx, s.store.Q, c.scope(), a); err != nil {
		return err
	}
	if b.membership, err = membersOf(ctx, s.store.Q, c.scope(), b.at, actorsOf(append(slices.Clone(given), a)), c.Teams...); err != nil {
		return err
	}
	open, position := b.open(given)
	if open.spent[a.Principal] {
		return problem.Newf(problem.Forbidden, "You approved an earlier step of the hold, and the step %q requires someone else. Rejecting it is still possible.", c.stepName(position))
	}
	if open.admits(a) {
		return nil
	}
	// The names of teams are no secret among reviewers: the queue shows them as well.
	var names []string
	for _, w := range missing(open.wants(assign(open.slots(), nil))) {
		names = append(names, `"`+w+`"`)
	}
	return problem.Newf(problem.Forbidden, "The hold requires approvals of the team or the person %s, and only they, a member of the team, or the deputy of one who is absent, can approve. "+
		"Ask them to approve it. Rejecting it does not require a team.", strings.Join(names, " or "))
}

// admits reports whether the approver could fill a slot, filled or not.
func (p poll) admits(a Approver) bool {
	slots := p.slots()
	for i, may := range p.fills(a, true) {
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

// addTeams adds the steps and the teams that the listed holds require, and corrects the count of their approvals and of several approvals. A page
// without such holds costs two queries more, any other six, however many holds it has.
func (s *Service) addTeams(ctx context.Context, p identity.Principal, rows []Queued, env models.Environment) error {
	wanted, err := s.wantedBy(ctx, p, rows)
	counted := slices.Collect(maps.Keys(wanted))
	for _, r := range rows {
		if _, ok := wanted[r.AuthorizationID]; !ok && r.Approvals > 1 {
			counted = append(counted, r.AuthorizationID)
		}
	}
	if err != nil || len(counted) == 0 {
		return err
	}
	now := s.clock.Now()
	approvers, err := approversOf(ctx, s.store.Q, p.Store(), now, counted...)
	if err != nil {
		return err
	}
	caller, err := standingOfHolds(ctx, s.store.Q, p.Store(), p.Actor(), now)
	if err != nil {
		return err
	}
	var named []models.HoldTeam
	for _, w := range wanted {
		named = append(named, w.teams...)
	}
	members, err := membersOf(ctx, s.store.Q, p.Store(), now, actorsOf(append(slices.Clone(approvers), caller)), named...)
	if err != nil {
		return err
	}
	barred, err := s.barredIn(ctx, p, rows, env)
	for i, r := range rows {
		if !slices.Contains(counted, r.AuthorizationID) {
			continue
		}
		w := wanted[r.AuthorizationID]
		b := ballot{
			steps: stepsOf(r.ApprovalsRequired, w.steps, w.teams), repeat: r.RepeatApprovers, membership: members, barred: barred[r.CredentialID], at: now,
		}
		of := slices.DeleteFunc(slices.Clone(approvers), func(a Approver) bool { return a.AuthorizationID != r.AuthorizationID })
		tally := b.count(of)
		open, _ := b.open(of)
		rows[i].Teams, rows[i].Stages, rows[i].Approvals = tally.Teams, tally.Stages, tally.Given
		rows[i].Approvable = r.Approvable && open.admits(caller) && !open.spent[caller.Principal]
	}
	return err
}

// wanted has the requirements of a hold for teams, and its steps.
type wanted struct {
	steps []models.HoldStep
	teams []models.HoldTeam
}

// wantedBy returns what the listed holds require, by hold; holds without teams and steps are left out.
func (s *Service) wantedBy(ctx context.Context, p identity.Principal, rows []Queued) (map[string]wanted, error) {
	held := make([]string, len(rows))
	for i, r := range rows {
		held[i] = r.AuthorizationID
	}
	teams, steps, err := wantedOf(ctx, s.store.Q, p.Store(), held...)
	out := map[string]wanted{}
	for _, row := range steps {
		w := out[row.AuthorizationID]
		w.steps = append(w.steps, row)
		out[row.AuthorizationID] = w
	}
	for _, row := range teams {
		w := out[row.AuthorizationID]
		w.teams = append(w.teams, row)
		out[row.AuthorizationID] = w
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
