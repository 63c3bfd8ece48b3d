package hold

import (
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/models"
)

// step is one step of a hold as its approvals are counted. A hold without rows of steps is one step without a name, which is open from the
// beginning.
type step struct {
	row      models.HoldStep
	required int
	wanted   []models.HoldTeam // with the times of escalations of a step that is open
}

// stepsOf returns the steps of a hold.
func stepsOf(required int, rows []models.HoldStep, teams []models.HoldTeam) []step {
	if len(rows) == 0 {
		return []step{{required: required, wanted: teams}}
	}
	out := make([]step, len(rows))
	for i, row := range rows {
		out[i] = step{row: row, required: row.Approvals}
		for _, t := range teams {
			if t.Step != row.Step {
				continue
			}
			if t.EscalateAfter != nil && t.EscalateAt == nil && row.OpenedAt != nil {
				at := row.OpenedAt.Add(time.Duration(*t.EscalateAfter) * time.Second)
				t.EscalateAt = &at
			}
			out[i].wanted = append(out[i].wanted, t)
		}
	}
	return out
}

// escalatesAt returns when the escalation of a team is due; nil for never, and for a step that is not open or has its approvals.
func (c Case) escalatesAt(t models.HoldTeam) *time.Time {
	if t.Step < len(c.Steps) && c.Steps[t.Step].SatisfiedAt != nil {
		return nil
	}
	for _, s := range stepsOf(c.ApprovalsRequired, c.Steps, []models.HoldTeam{t}) {
		if len(s.wanted) > 0 {
			return s.wanted[0].EscalateAt
		}
	}
	return nil
}

// stepName returns the name of a step by its position; empty for a hold without steps.
func (c Case) stepName(position int) string {
	if position < len(c.Steps) {
		return c.Steps[position].Name
	}
	return ""
}

// Stage is how far one step of a hold is.
type Stage struct {
	Name      string    `json:"name"`
	State     string    `json:"state"` // see the constants
	Approvals Approvals `json:"approvals"`
	OpenedAt  *string   `json:"opened_at"` // null for a step that is not open yet
	DueAt     *string   `json:"due_at"`
}

// The states of a step.
const (
	StageApproved = "approved"
	StageOpen     = "open"
	StageWaiting  = "waiting" // for the steps before it
)

// Tally counts the approvals of a hold. Each counts once: a person who belongs to several teams fills one slot of one team, and who approved a
// step fills none of a later one, unless the policy allows it.
type Tally struct {
	Given, Required int
	Teams           []Wanted // of the open step, or of the last one; nil if it requires no team
	// Open is the position of the first step that lacks approvals; the number of steps if none does.
	Open   int
	Stages []Stage // nil for a hold without steps
}

// ballot has everything that decides whose approvals of one hold count: its steps, the members of the teams that they require, and the person who
// may not approve, even by a deputy.
type ballot struct {
	steps  []step
	repeat bool // one person may approve in several steps
	membership
	// barred is whom the requester counts as, or counted, if self-review is barred.
	barred identity.Behind
	// at decides which escalations are in force.
	at time.Time
}

// poll is the part of a ballot that decides about one step. spent are those whose approval counts for an earlier step.
type poll struct {
	step
	ballot
	spent map[string]bool
}

// requiresTeams reports whether any step requires approvals of a team.
func (b ballot) requiresTeams() bool {
	return slices.ContainsFunc(b.steps, func(s step) bool { return len(s.wanted) > 0 })
}

// polls returns the poll of each step with the approvals that were given in it.
func (b ballot) polls(approvers []Approver) (polls []poll, given [][]Approver) {
	spent := map[string]bool{}
	for i, s := range b.steps {
		p := poll{step: s, ballot: b, spent: map[string]bool{}}
		if !b.repeat {
			for principal := range spent {
				p.spent[principal] = true
			}
		}
		mine := slices.DeleteFunc(slices.Clone(approvers), func(a Approver) bool { return a.Step != i || p.spent[a.Principal] })
		for _, a := range mine {
			spent[a.Principal] = true
			if p.byDeputy(a) {
				spent[a.AbsentPrincipal] = true
			}
		}
		polls, given = append(polls, p), append(given, mine)
	}
	return polls, given
}

// byDeputy reports whether the approver fills slots for an absent person that they could not fill themselves.
func (p poll) byDeputy(a Approver) bool {
	return a.Absent != "" && !slices.Equal(p.fills(a, true), p.fills(a, false))
}

// open returns the poll of the first step that lacks approvals, and its position; of the last step if none does.
func (b ballot) open(approvers []Approver) (poll, int) { return b.openAfter(b.certain(approvers)) }

// openAfter is open after approvals by different people.
func (b ballot) openAfter(approvers []Approver) (poll, int) {
	polls, given := b.polls(approvers)
	for i, p := range polls {
		if sum(assign(p.slots(), p.may(given[i]))) < p.required {
			return p, i
		}
	}
	return polls[len(polls)-1], len(polls)
}

// may returns the slots that each of the approvers may fill.
func (p poll) may(approvers []Approver) [][]bool {
	_, out := p.voters(approvers)
	return out
}

func sum(filled [][]int) int {
	n := 0
	for _, by := range filled {
		n += len(by)
	}
	return n
}

// count returns the tally of the approvals.
func (b ballot) count(approvers []Approver) Tally { return b.fill(b.certain(approvers)) }

// fill counts approvals by different people.
func (b ballot) fill(approvers []Approver) Tally {
	out := Tally{}
	polls, given := b.polls(approvers)
	_, out.Open = b.openAfter(approvers)
	for i, p := range polls {
		filled := assign(p.slots(), p.may(given[i]))
		n := sum(filled)
		out.Given, out.Required = out.Given+n, out.Required+p.required
		if i == min(out.Open, len(polls)-1) {
			out.Teams = p.wants(filled)
		}
		if p.row.Name != "" {
			out.Stages = append(out.Stages, Stage{
				Name: p.row.Name, State: stateOf(i, out.Open), Approvals: Approvals{Given: n, Required: p.required},
				OpenedAt: apitime.OptionalTime(p.row.OpenedAt), DueAt: apitime.OptionalTime(p.row.DueAt),
			})
		}
	}
	return out
}

func stateOf(position, open int) string {
	switch {
	case position < open:
		return StageApproved
	case position == open:
		return StageOpen
	default:
		return StageWaiting
	}
}

// wants returns what the step requires of teams, with what each has given.
func (p poll) wants(filled [][]int) []Wanted {
	var out []Wanted
	for i, w := range p.wanted {
		team := Wanted{
			Group: w.Team, Approvals: w.Approvals, Given: len(filled[i]), EscalatesTo: w.EscalateTeam, EscalatesAt: apitime.OptionalTime(w.EscalateAt),
			Approver: p.approver(w),
		}
		if w.NamedBy() != "" {
			team.Group = optional(w.FallbackTeam)
		}
		team.Escalated = w.EscalateAt != nil && !p.at.Before(*w.EscalateAt)
		out = append(out, team)
	}
	return out
}
