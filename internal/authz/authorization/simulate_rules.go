package authorization

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/assurance"
	"github.com/countersign-dev/countersign/internal/authz/lists"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
	"github.com/countersign-dev/countersign/internal/authz/storedvalues"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/canonical"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// countsBatch is for how many decisions one statement counts earlier ones: each count is a range of an index, and a statement has
// a timeout.
const countsBatch = 500

// numbersBatch is the same for a number, which is made of more rows.
const numbersBatch = 100

// filteredBatch is the same for a number with a filter, each row of which is looked up.
const filteredBatch = 10

// replayer applies the rules of a policy version to stored decisions.
type replayer struct {
	set       *rules.Set // nil or empty if the version has no rules: then nothing else is read
	names     []string
	riskClass string
	kind      policy.EnvironmentKind
	vault     storedvalues.Vault
	rows      map[string]Replayable                 // with the decisions that they follow
	counts    map[string]map[rules.Count]int        // by decision; one that is not known is missing
	numbers   map[string]map[rules.Aggregate]string // likewise
	listed    map[string]map[rules.Listed]bool      // likewise
	lists     map[string]models.List                // by name
	plan      aggregate.Plan
	digests   aggregate.Vault
	approved  map[string]policy.Requirements // by the content hash of the policy under which standing approvals were given
	noContext string                         // the digest of an empty context
	done      map[string]appliedRules
}

// appliedRules are the rules that apply to a decision, and those of which that is not known.
type appliedRules struct {
	matched   []policy.MatchedRule
	undecided []rules.Undecided
}

// replayer returns a replayer of decisions of the version's action. Rules that were valid when the version was created and are not
// any more are an error: a simulation without them would show a policy that does not exist.
func (s *Service) replayer(ctx context.Context, scope pg.Scope, v models.PolicyVersion, c policy.Contract, rows []Replayable, kind policy.EnvironmentKind) (*replayer, error) {
	set, faults := rules.CompileReplayable(c.Requirements.Rules, c.ContextSchema)
	if len(faults) > 0 {
		return nil, fmt.Errorf("rules of policy version %s: rule %s: %w", v.ID, faults[0].Name, faults[0])
	}
	r := &replayer{
		set: set, kind: kind, vault: s.kept, digests: s.digests, done: map[string]appliedRules{}, numbers: map[string]map[rules.Aggregate]string{},
		listed: map[string]map[rules.Listed]bool{}, approved: map[string]policy.Requirements{},
	}
	if err := r.readApproved(ctx, s.store.Q, scope, v.ActionID, rows); err != nil {
		return nil, err
	}
	if set.Empty() {
		return r, nil
	}
	for _, rule := range c.Requirements.Rules {
		r.names = append(r.names, rule.Name)
	}
	act, err := action.GetActionOrArchived(ctx, s.store.Q, scope, v.ActionID)
	if err != nil {
		return nil, err
	}
	r.riskClass = act.RiskClass
	if r.noContext, err = canonical.ContextDigest(map[string]any{}); err != nil {
		return nil, err
	}
	if err := r.follow(ctx, s.store.Q, scope, rows); err != nil {
		return nil, err
	}
	if err := r.count(ctx, s.store.Q, scope); err != nil {
		return nil, err
	}
	if r.plan, err = aggregate.Parse(v.ContextSchema); err != nil {
		return nil, err
	}
	if err := r.number(ctx, s, scope, act); err != nil {
		return nil, err
	}
	return r, r.ask(ctx, s, scope)
}

// readApproved reads under which requirements the standing approvals were given that allowed decisions.
func (r *replayer) readApproved(ctx context.Context, q *pg.Q, scope pg.Scope, of string, rows []Replayable) error {
	if !slices.ContainsFunc(rows, func(row Replayable) bool { return row.StandingID != nil }) {
		return nil
	}
	policies, err := policiesOf(ctx, q, scope, of)
	if err != nil {
		return err
	}
	for _, v := range policies {
		c, err := action.Contract(v)
		if err != nil {
			return err
		}
		r.approved[v.ContentHash] = c.Requirements.Resolve(r.kind)
	}
	return nil
}

// follow reads the decisions that follow-up decisions follow, up to the first of each chain: a rule that applied to them still
// applies. A chain is short, because max_challenges bounds it.
func (r *replayer) follow(ctx context.Context, q *pg.Q, scope pg.Scope, rows []Replayable) error {
	r.rows = make(map[string]Replayable, len(rows))
	for len(rows) > 0 {
		parents := map[string]bool{}
		for _, row := range rows {
			r.rows[row.ID] = row
		}
		for _, row := range rows {
			if row.ParentID == nil {
				continue
			}
			if _, read := r.rows[*row.ParentID]; !read {
				parents[*row.ParentID] = true
			}
		}
		if len(parents) == 0 {
			return nil
		}
		var err error
		if rows, err = replayablesByID(ctx, q, scope, slices.Collect(maps.Keys(parents))); err != nil {
			return err
		}
	}
	return nil
}

// simulatedLists returns the lists that the rules read, by name.
func (r *replayer) simulatedLists() []SimulatedList {
	out := []SimulatedList{}
	for _, name := range slices.Sorted(maps.Keys(r.lists)) {
		out = append(out, SimulatedList{name, r.lists[name].Version})
	}
	return out
}

// count counts the decisions that were made before each decision, and the security events that were received before it. Where retention has removed
// some, the count is not known.
func (r *replayer) count(ctx context.Context, q *pg.Q, scope pg.Scope) error {
	var decisions, signals []rules.Count
	for _, c := range r.set.Counts() {
		if c.Signal() != "" {
			signals = append(signals, c)
		} else {
			decisions = append(decisions, c)
		}
	}
	r.counts = make(map[string]map[rules.Count]int, len(r.rows))
	if err := r.countBy(ctx, q, scope, decisions, countsBefore, audit.ExpiringAuthorizations); err != nil {
		return err
	}
	return r.countBy(ctx, q, scope, signals, signalsBefore, audit.ExpiringSignals)
}

// counter counts rows of a class of data before decisions.
type counter func(ctx context.Context, q *pg.Q, s pg.Scope, counts []SubjectCount, limit int) (map[string]map[int]int, error)

func (r *replayer) countBy(ctx context.Context, q *pg.Q, scope pg.Scope, needed []rules.Count, count counter, class audit.Expiring) error {
	if len(needed) == 0 {
		return nil
	}
	complete, err := completeSince(ctx, q, scope, class)
	if err != nil {
		return err
	}
	ids := slices.Collect(maps.Keys(r.rows))
	for batch := range slices.Chunk(ids, countsBatch) {
		var asked []SubjectCount
		for _, id := range batch {
			for i, c := range needed {
				asked = append(asked, SubjectCount{ID: id, Place: i, Action: c.Action, Outcomes: c.Outcomes(), Since: c.Since(r.rows[id].DecidedAt), Unapproved: c.Unapproved})
			}
		}
		found, err := count(ctx, q, scope, asked, rules.MaxCounted)
		if err != nil {
			return err
		}
		for id, numbers := range found {
			if r.counts[id] == nil {
				r.counts[id] = map[rules.Count]int{}
			}
			maps.Copy(r.counts[id], known(needed, numbers, r.rows[id].DecidedAt, complete))
		}
	}
	return nil
}

// number computes what was added up before each decision, where that is known.
func (r *replayer) number(ctx context.Context, s *Service, scope pg.Scope, act models.Action) error {
	if len(r.set.Aggregates()) == 0 {
		return nil
	}
	q := s.store.Q
	complete, err := completeSince(ctx, q, scope, audit.ExpiringAuthorizations, audit.ExpiringAggregates)
	if err != nil {
		return err
	}
	policies, err := policiesOf(ctx, q, scope, act.ID)
	if err != nil {
		return err
	}
	erased, err := erasedUntil(ctx, q, scope, s.clock.Now())
	if err != nil {
		return err
	}
	for _, g := range r.set.Aggregates() {
		since := complete
		past := aggregate.Past{Read: aggregate.Read{
			Resource: g.Resource, Field: g.Field, Kind: kindOf(g), Action: g.Action, Decision: g.Decision(), Reserved: g.Reserved,
		}}
		if g.IsSeen() {
			past.Decision, past.Seen, past.First = "", [][]byte{}, g.IsFirst()
		} else if g.Filter != "" {
			past.Filter = filterOf(g)
		}
		switch {
		case g.Resource && g.Action == act.Key:
			unstored, err := unstoredUntil(policies, g, s.clock.Now())
			if err != nil {
				return err
			}
			since = latest(complete, erased, unstored)
		case g.Resource:
			since = latest(complete, erased)
		case g.IsSeen() || g.Action == act.Key:
			past.Measured, past.Stored = act.Key, storing(policies, g)
		}
		var of []aggregate.Moment
		for id, row := range r.rows {
			m, known, err := r.moment(scope, row, g)
			if err != nil {
				return err
			}
			if known && row.ParentID == nil && !g.Since(row.DecidedAt).Before(since) {
				m.ID, m.Since = id, g.Since(row.DecidedAt)
				of = append(of, m)
			}
		}
		each := numbersBatch
		if past.Filter != nil {
			each = filteredBatch
		}
		for batch := range slices.Chunk(of, each) {
			found, err := past.Before(ctx, q.Old(ctx), scope, batch)
			if err != nil {
				return err
			}
			for id, b := range found {
				if above := r.set.Above(g); b.Least.Cmp(b.Most) != 0 && (above == nil || b.Least.Cmp(above) <= 0) {
					continue
				}
				if r.numbers[id] == nil {
					r.numbers[id] = map[rules.Aggregate]string{}
				}
				r.numbers[id][g] = b.Least.RatString()
			}
		}
	}
	return nil
}

// storing returns the hashes of the policies under which requests store what a number is made of.
func storing(policies []models.PolicyVersion, g rules.Aggregate) []string {
	out := []string{}
	for _, v := range policies {
		if stores(v, g) {
			out = append(out, v.ContentHash)
		}
	}
	return out
}

func stores(v models.PolicyVersion, g rules.Aggregate) bool {
	plan, err := aggregate.Parse(v.ContextSchema)
	has := func(field string, kind aggregate.Kind) bool {
		f, declared := plan.Field(field)
		return declared && f.Kind == kind
	}
	if err != nil || slices.ContainsFunc(g.Filter.By(), func(s rules.Sought) bool { return !has(s.Field, aggregate.Distinct) }) {
		return false
	}
	if g.IsSum() {
		return has(g.Field, aggregate.Sum)
	}
	return g.Field == rules.SubjectField || has(g.Field, aggregate.Distinct)
}

// overlap is for how long decisions may be made under a policy after it was replaced.
const overlap = time.Minute

// unstoredUntil returns the time up to which requests of the action may have been decided under a policy that does not store what a number
// of the resource is made of; zero if there was none.
func unstoredUntil(policies []models.PolicyVersion, g rules.Aggregate, now time.Time) (time.Time, error) {
	var until time.Time
	for _, v := range policies {
		if v.ActivatedAt == nil {
			continue
		}
		contract, err := action.Contract(v)
		if err != nil {
			return until, err
		}
		counted := rules.CompileStored(contract.Requirements.Rules, contract.ContextSchema).Aggregates()
		byResource := slices.ContainsFunc(counted, func(c rules.Aggregate) bool { return c.Resource })
		bySubject := slices.ContainsFunc(counted, func(c rules.Aggregate) bool { return c.Field == rules.SubjectField })
		if byResource && (bySubject || g.Field != rules.SubjectField) && stores(v, g) {
			continue
		}
		if v.RetiredAt == nil {
			return now, nil
		}
		until = latest(until, v.RetiredAt.Add(overlap))
	}
	return until, nil
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// ask looks up what the rules ask of lists for the first decisions. What a list had then is not stored: it has the entries of now.
func (r *replayer) ask(ctx context.Context, s *Service, scope pg.Scope) (err error) {
	var names []string
	for _, l := range r.set.Lists() {
		names = append(names, l.Name)
	}
	if r.lists, err = lists.ByName(ctx, s.store.Q, scope, names); err != nil || len(r.lists) == 0 {
		return err
	}
	lookups := map[string]*lists.Lookup{}
	for id, row := range r.rows {
		if row.ParentID != nil {
			continue
		}
		vars, known, err := r.vars(row)
		if err != nil {
			return err
		}
		if lookups[id], err = s.lists.Lookup(r.lists, r.set.ReplayListed(ctx, vars, known)); err != nil {
			return err
		}
	}
	if err := lists.LookUp(ctx, s.store.Q, scope, slices.Collect(maps.Values(lookups)), s.clock.Now()); err != nil {
		return err
	}
	for id, l := range lookups {
		r.listed[id] = l.Results()
	}
	return nil
}

// moment returns the currency and the value by which a decision read a number; false if they are not known.
func (r *replayer) moment(scope pg.Scope, row Replayable, g rules.Aggregate) (m aggregate.Moment, known bool, err error) {
	values, err := r.vault.Open(row.ID, row.Kept)
	if err != nil {
		return m, false, err
	}
	var context map[string]any
	if values != nil {
		if err := json.Unmarshal(values.Context, &context); err != nil {
			return m, false, err
		}
	}
	for _, sought := range g.Sought() {
		if path, literal := sought.Path(); !literal && !values.Knows(path) {
			return m, false, nil
		}
	}
	if m.Seen, known, err = soughtBy(r.digests, counting{environment: scope.Environment, context: context}, g); err != nil || !known {
		return m, false, err
	}
	f, _ := r.plan.Field(g.Field)
	if g.IsSum() && f.CurrencyPath != nil && !values.Knows(f.CurrencyPath) {
		return m, false, nil
	}
	if g.IsSum() {
		m.Currency, known = r.plan.CurrencyOf(g.Field, context)
		return m, known, nil
	}
	return m, true, nil
}

// known returns the counts whose window is complete. Those that it leaves out are not known to a rule, which is different from zero.
func known(needed []rules.Count, numbers map[int]int, decidedAt, complete time.Time) map[rules.Count]int {
	out := make(map[rules.Count]int, len(needed))
	for i, c := range needed {
		if n := numbers[i]; !c.Since(decidedAt).Before(complete) && n != unknownTally {
			out[c] = n
		}
	}
	return out
}

// rules returns the rules that apply to a stored decision. It remembers the result: a first decision is looked up again by each
// decision that follows from it.
func (r *replayer) rules(ctx context.Context, row Replayable) (appliedRules, error) {
	if r.set.Empty() {
		return appliedRules{}, nil
	}
	if done, ok := r.done[row.ID]; ok {
		return done, nil
	}
	vars, known, err := r.vars(row)
	if err != nil {
		return appliedRules{}, err
	}
	var matched []rules.Match
	var out appliedRules
	if row.ParentID == nil {
		matched, out.undecided = r.set.Replay(ctx, vars, known)
	} else {
		before, err := r.before(ctx, *row.ParentID)
		if err != nil {
			return out, err
		}
		earlier := make([]rules.Earlier, len(before.matched))
		for i, m := range before.matched {
			earlier[i] = rules.Earlier{Name: m.Name, Failed: m.Failed}
		}
		matched, out.undecided = r.set.ReplayAgain(ctx, vars, earlier, before.undecided, known)
	}
	for _, m := range matched {
		out.matched = append(out.matched, policy.MatchedRule{Rule: m.Rule, Found: m.Found, Failed: m.Failed})
	}
	r.done[row.ID] = out
	return out, nil
}

// before returns the rules that apply to the decision that a follow-up decision follows. If that decision is no longer stored, it
// is not known of any rule whether it applied.
func (r *replayer) before(ctx context.Context, id string) (appliedRules, error) {
	if row, ok := r.rows[id]; ok {
		return r.rules(ctx, row)
	}
	var out appliedRules
	for _, name := range r.names {
		out.undecided = append(out.undecided, rules.Undecided{Rule: name, Unknown: []string{"the decision before"}})
	}
	return out, nil
}

// vars returns the values of a stored decision and which of them are known. The enrollment that the subject had is not stored, and
// neither is whether it had recently recovered, unless it has no limit from then on.
// The function compares paths as a condition writes them.
func (r *replayer) vars(row Replayable) (rules.Vars, rules.Known, error) {
	var profile assurance.Profile
	if err := json.Unmarshal(row.Assurance, &profile); err != nil {
		return rules.Vars{}, nil, err
	}
	values, err := r.vault.Open(row.ID, row.Kept)
	if err != nil {
		return rules.Vars{}, nil, err
	}
	vars := rules.Vars{
		Resource: rules.Resource{Type: row.ResourceType}, Action: rules.Action{Key: row.ActionKey, Mode: string(row.Mode), RiskClass: r.riskClass},
		Audience: row.Audience, Environment: r.kind, Assurance: profile.Facts(), Counts: r.counts[row.ID], Aggregates: r.numbers[row.ID], Listed: r.listed[row.ID], Now: row.DecidedAt,
		Subject: rules.Subject{ID: row.Subject, CreatedAt: row.SubjectCreatedAt, Passkeys: row.PasskeysThen},
	}
	resource := false
	if values != nil {
		vars.Context = values.Context
		if resource = values.ResourceID != nil; resource {
			vars.Resource.ID = *values.ResourceID
		}
	}
	return vars, func(path []string, presence bool) bool {
		switch at := path[len(path)-1]; path[0] {
		case "context":
			return row.ContextDigest == r.noContext || values.Knows(path[1:]) || presence && values.KnowsPresence(path[1:])
		case "list":
			_, stored := r.lists[at]
			return stored
		case "resource":
			return at == "type" || at == "id" && resource
		case "subject":
			capped := row.ClaimCapUntil != nil && row.ClaimCapUntil.After(row.DecidedAt)
			return len(path) > 1 && at != "enrollment" && (at != "recently_recovered" || !capped)
		default:
			return true
		}
	}, nil
}
