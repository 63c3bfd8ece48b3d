package authorization

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

// Window selects the stored decisions of a simulation.
type Window struct {
	Last  int // at most this many, newest first
	Since *time.Time
	Until *time.Time
	// List is how many decisions Moves and Undecided list at most, each.
	List int
}

// Simulation is the contract's PolicySimulation.
type Simulation struct {
	Action  string `json:"action"`
	Version int    `json:"version"`
	// Decisions is how many stored decisions were decided again. It does not include NotDecidable.
	Decisions int `json:"decisions"`
	// Changed is how many of them would have a different effect.
	Changed int `json:"changed"`
	// Before and After count the decisions by effect, as recorded and as they would be.
	Before map[policy.Effect]int `json:"before"`
	After  map[policy.Effect]int `json:"after"`
	// Transitions are sorted by frequency.
	Transitions []Transition `json:"transitions"`
	// Reasons are sorted by code.
	Reasons []ReasonShift `json:"reasons"`
	// Moves lists the changed decisions, newest first, at most Window.List.
	Moves []Move `json:"moves"`
	// NotDecidable counts the stored decisions of which it is not known what they would have been.
	NotDecidable int `json:"not_decidable"`
	// Undecided lists them, newest first, at most Window.List.
	Undecided []Undecided `json:"undecided"`
	// Lists are those that the rules read, as they are now and not as they were when the decisions were made.
	Lists []SimulatedList `json:"lists"`
}

// SimulatedList is a named list with its version now.
type SimulatedList struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// Move is a decision that would have been different.
type Move struct {
	Authorization string        `json:"authorization"`
	DecidedAt     string        `json:"decided_at"`
	From          policy.Effect `json:"from"`
	To            policy.Effect `json:"to"`
	Rules         []string      `json:"rules"` // that apply under the simulated version
}

// Undecided is a decision that a rule could change depending on a value that is not stored.
type Undecided struct {
	Authorization string          `json:"authorization"`
	DecidedAt     string          `json:"decided_at"`
	Decision      policy.Effect   `json:"decision"` // as recorded
	Rules         []UndecidedRule `json:"rules"`
}

// UndecidedRule is a rule with the values that it reads and that are not stored.
type UndecidedRule struct {
	Rule    string   `json:"rule"`
	Unknown []string `json:"unknown"` // as its condition writes them, such as context.amount
}

// Transition counts decisions whose effect would have been different.
type Transition struct {
	From  policy.Effect `json:"from"`
	To    policy.Effect `json:"to"`
	Count int           `json:"count"`
}

// ReasonShift counts how often a reason code was returned and would be returned.
type ReasonShift struct {
	Code   string `json:"code"`
	Before int    `json:"before"`
	After  int    `json:"after"`
}

// The limits of concurrent simulations of one process: in total, per tenant, and waiting. A simulation decides thousands of times
// and would keep the processor from the decisions of others.
const (
	simulationsAtOnce = 2
	simulationsEach   = 1
	simulationsQueue  = 16
	simulationsWait   = 2 * time.Second
)

// Simulate decides stored decisions of an action again under one of its policy versions, from the assurance profiles that were
// recorded then and, for rules, from the values that were kept and the lists as they are now. A decision that depends on a value that is
// not stored is counted and listed instead. It writes nothing. Whether the subject could use a passkey is taken from today, since
// decisions do not record it.
//
// It is unavailable while too many simulations run.
func (s *Service) Simulate(ctx context.Context, scope pg.Scope, v models.PolicyVersion, kind policy.EnvironmentKind, w Window) (Simulation, error) {
	if err := s.replays.Enter(ctx, scope.Tenant, simulationsWait); err != nil {
		return Simulation{}, problem.NewUnavailable("Too many simulations are in progress. Retry the request.", err)
	}
	defer s.replays.Leave(scope.Tenant)
	contract, err := action.Contract(v)
	if err != nil {
		return Simulation{}, err
	}
	rows, err := listReplayables(ctx, s.store.Q, scope, v.ActionID, w.Since, w.Until, w.Last)
	if err != nil {
		return Simulation{}, err
	}
	if err := s.permitModels(ctx, scope, rows, contract.Requirements); err != nil {
		return Simulation{}, err
	}
	replay, err := s.replayer(ctx, scope, v, contract, rows, kind)
	if err != nil {
		return Simulation{}, err
	}
	t := tally{list: w.List, moves: map[Transition]int{}, reasons: map[string]ReasonShift{}}
	t.sim = Simulation{Action: v.ActionID, Version: v.Version, Before: map[policy.Effect]int{}, After: map[policy.Effect]int{}, Moves: []Move{}, Undecided: []Undecided{}, Lists: replay.simulatedLists()}
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return Simulation{}, err
		}
		applied, err := replay.rules(ctx, row)
		if err != nil {
			return Simulation{}, err
		}
		if len(applied.undecided) > 0 {
			t.leave(row, applied.undecided)
			continue
		}
		question, err := replayInput(row, contract.Requirements, kind)
		if err != nil {
			return Simulation{}, err
		}
		question.Rules = applied.matched
		if now, known := replay.decide(row, question); known {
			t.count(row, now, applied.matched)
		} else {
			t.leave(row, []rules.Undecided{{Rule: "standing_approval", Unknown: []string{"whether the standing approval would have been given"}}})
		}
	}
	return t.result(), nil
}

// replayInput returns the input of a stored decision with different requirements.
func replayInput(row Replayable, r policy.Requirements, kind policy.EnvironmentKind) (policy.Input, error) {
	var profile assurance.Profile
	if err := json.Unmarshal(row.Assurance, &profile); err != nil {
		return policy.Input{}, err
	}
	in := policy.Input{
		Requirements: r, Environment: kind, Mode: policy.Mode(row.Mode), Assurance: profile.Facts(),
		SubjectRevoked: slices.Contains(row.ReasonCodes, reason.SubjectRevoked),
		ActionArchived: slices.Contains(row.ReasonCodes, reason.ActionArchived), SubjectSuspected: slices.Contains(row.ReasonCodes, reason.SecurityEvent),
		ChallengesUsed: row.ChallengesUsed, HoldApproved: row.HoldApproved,
		UsableMethods: policy.Usable(row.Passkeys, kind),
	}
	// The row counts the challenge that the decision itself opened; shadow opens none.
	if row.Decision == string(policy.Challenge) && row.Mode != models.ModeShadow {
		in.ChallengesUsed--
	}
	if row.ChallengeCompleted != nil {
		in.ChallengeCompleted = policy.Method(*row.ChallengeCompleted)
	}
	return in, nil
}

// decide decides a stored decision by the standing approval that allowed it, if it would have been given under the simulated requirements: their terms
// are those under which it was. It returns false if the decision depends on that, and the terms differ. Of another decision no one had given one.
func (r *replayer) decide(row Replayable, question policy.Input) (policy.Decision, bool) {
	d := policy.Decide(question)
	if row.StandingID == nil || question.Requirements.Standing == nil {
		return d, true
	}
	sources := question.Requirements.Standing.By
	if row.StandingSource != nil {
		sources = slices.DeleteFunc(slices.Clone(sources), func(s policy.StandingSource) bool { return string(s) != *row.StandingSource })
	}
	for _, source := range sources {
		if !question.StandingApplies(d, source) {
			continue
		}
		asked := question
		asked.Standing = &policy.GivenStanding{Source: source}
		if given := policy.Decide(asked); given.Effect == policy.Allow {
			before, stored := r.approved[row.PolicyHash]
			return given, stored && row.StandingSource != nil && before.StandsAs(question.Requirements.Resolve(r.kind), source)
		}
	}
	return d, true
}

// tally accumulates a Simulation.
type tally struct {
	sim     Simulation
	list    int
	moves   map[Transition]int // keyed by From and To; Count is zero
	reasons map[string]ReasonShift
}

// count adds one decision, as recorded and as it would be now.
func (t *tally) count(row Replayable, now policy.Decision, matched []policy.MatchedRule) {
	before, after := policy.Effect(row.Decision), now.Effect
	t.sim.Decisions++
	t.sim.Before[before]++
	t.sim.After[after]++
	if after != before {
		t.sim.Changed++
		t.moves[Transition{From: before, To: after}]++
		if len(t.sim.Moves) < t.list {
			move := Move{Authorization: row.ID, DecidedAt: apitime.Time(row.DecidedAt), From: before, To: after, Rules: []string{}}
			for _, m := range matched {
				move.Rules = append(move.Rules, m.Name)
			}
			t.sim.Moves = append(t.sim.Moves, move)
		}
	}
	for _, code := range row.ReasonCodes {
		shift := t.reasons[code]
		shift.Before++
		t.reasons[code] = shift
	}
	for _, code := range now.ReasonCodes {
		shift := t.reasons[code]
		shift.After++
		t.reasons[code] = shift
	}
}

// leave adds a decision that cannot be made again. It is in none of the other figures, so that they add up.
func (t *tally) leave(row Replayable, undecided []rules.Undecided) {
	t.sim.NotDecidable++
	if len(t.sim.Undecided) == t.list {
		return
	}
	out := Undecided{Authorization: row.ID, DecidedAt: apitime.Time(row.DecidedAt), Decision: policy.Effect(row.Decision)}
	for _, u := range undecided {
		out.Rules = append(out.Rules, UndecidedRule(u))
	}
	t.sim.Undecided = append(t.sim.Undecided, out)
}

// result sorts the counts: transitions by frequency, reasons by code.
func (t *tally) result() Simulation {
	t.sim.Transitions, t.sim.Reasons = []Transition{}, []ReasonShift{}
	for move, n := range t.moves {
		move.Count = n
		t.sim.Transitions = append(t.sim.Transitions, move)
	}
	slices.SortFunc(t.sim.Transitions, func(a, b Transition) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return slices.Compare([]policy.Effect{a.From, a.To}, []policy.Effect{b.From, b.To})
	})
	for _, code := range slices.Sorted(maps.Keys(t.reasons)) {
		shift := t.reasons[code]
		shift.Code = code
		t.sim.Reasons = append(t.sim.Reasons, shift)
	}
	return t.sim
}
