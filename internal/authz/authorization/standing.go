package authorization

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/account/subjectrow"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/aggregate"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/proof"
	"github.com/countersign-dev/countersign/internal/authz/settle"
	"github.com/countersign-dev/countersign/internal/authz/standing"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/ids"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
	"github.com/countersign-dev/countersign/models"
)

// tryStanding returns the decision by a standing approval that allows a request which would wait for someone, its use counted, or the decision as it is.
// Outside of a transaction it fails with errStanding if there may be one.
func (s *Service) tryStanding(ctx context.Context, q *pg.Q, d *decision, w Wanted) (*decision, error) {
	in := d.in
	if in.force.Contract.Requirements.Standing == nil || in.base.Mode == models.ModeShadow || in.facts.Subject.AdaptationFrozen {
		return d, nil
	}
	if d.verdict.Effect != policy.Challenge && d.verdict.Effect != policy.Hold {
		return d, nil
	}
	counts := w.Standing || len(w.Locks) > 0
	if counts {
		if err := s.lockForStanding(ctx, q, d); err != nil {
			return nil, err
		}
	}
	found, err := s.standings(ctx, q, d)
	if err != nil || len(found) == 0 {
		return d, err
	}
	if !counts {
		return nil, errStanding
	}
	for _, row := range found {
		if decided, err := s.useStanding(ctx, q, d, row); err != nil || decided != nil {
			return decided, err
		}
	}
	return s.decide(ctx, q, in, d.now) // again: its entries follow those of what has ended
}

// lockForStanding makes sure that the subject is as it was read until the transaction ends: an end of the subject, of its passkeys or of its standing
// approvals comes before the use, or after it.
func (s *Service) lockForStanding(ctx context.Context, q *pg.Q, d *decision) error {
	if err := standing.LockTimeout(ctx, q, aggregate.LockTry); err != nil {
		return err
	}
	return keepSubject(ctx, q, d.in.facts.Subject)
}

// standings returns the standing approvals that cover a request and by which it would be allowed.
func (s *Service) standings(ctx context.Context, q *pg.Q, d *decision) ([]models.StandingApproval, error) {
	in := d.in
	rows, err := standing.Candidates(ctx, q, d.scope(), standing.Wanted{
		SubjectUID: in.facts.Subject.UID, Action: in.force.Action.ID, PolicyVersion: in.force.Version, Mode: in.base.Mode, Audience: in.base.Audience,
		Type: in.base.ResourceType, At: d.now,
	})
	if err != nil {
		return nil, err
	}
	var out []models.StandingApproval
	for _, row := range rows {
		terms, err := s.standing.Open(row)
		if err != nil {
			return nil, err
		}
		if !terms.Cover(in.request.Resource.ID, in.force.People.Agent(in.request.context)) {
			continue
		}
		if _, fits, err := d.amount(row); err != nil {
			return nil, err
		} else if !fits {
			continue
		}
		asked, source := d.question, policy.StandingSource(row.Source)
		if asked.StandingApplies(d.verdict, source) {
			asked.Standing = &policy.GivenStanding{Source: source}
			if policy.Decide(asked).Effect == policy.Allow {
				out = append(out, row)
			}
		}
	}
	return out, nil
}

// amount returns what a request counts towards the amount of a standing approval; false if it does not fit, because it is more than is left, in another
// currency, or not given.
func (d *decision) amount(row models.StandingApproval) (string, bool, error) {
	limit := d.in.force.Contract.Requirements.Standing.MaxAmount
	if limit == nil || row.MaxAmount == nil {
		return "0", limit == nil, nil
	}
	values, err := d.in.force.Aggregates.Values(d.in.request.Context)
	if err != nil {
		return "", false, err
	}
	at := slices.IndexFunc(values, func(v aggregate.Value) bool { return v.Field == limit.Field && v.Text == nil })
	if at < 0 || values[at].Amount == "" || values[at].Currency != row.Currency {
		return "", false, nil
	}
	wanted, known := new(big.Rat).SetString(values[at].Amount)
	most, limited := new(big.Rat).SetString(*row.MaxAmount)
	used, counted := new(big.Rat).SetString(row.AmountUsed)
	if !known || !limited || !counted || wanted.Sign() < 0 {
		return "", false, fmt.Errorf("authorization: the amounts of the standing approval %s are no numbers", row.ID)
	}
	return values[at].Amount, used.Add(used, wanted).Cmp(most) <= 0, nil
}

// useStanding counts a use and decides by it. It returns nil if the standing approval has ended or is used up meanwhile, or if its approvers have lost
// the authority for it, which ends it.
func (s *Service) useStanding(ctx context.Context, q *pg.Q, d *decision, row models.StandingApproval) (*decision, error) {
	lost, err := standing.Unapproved(ctx, q, row, d.now)
	if err != nil {
		return nil, err
	}
	if lost {
		end := standing.Ending{Reason: standing.ReasonApprover, By: "service", RequestID: d.in.requestID, At: d.now}
		return nil, end.One(ctx, q, row)
	}
	amount, _, err := d.amount(row)
	if err != nil {
		return nil, err
	}
	reserved, ok, err := standing.Reserve(ctx, q, row, amount, d.now)
	if err != nil || !ok {
		return nil, err
	}
	in := d.in
	in.standing, in.base.StandingID, in.base.StandingAmount = &reserved, &reserved.ID, &amount
	decided, err := s.decide(ctx, q, in, d.now)
	if err == nil && decided.verdict.Effect != policy.Allow {
		err = fmt.Errorf("authorization: the standing approval %s did not allow what it was used for", row.ID)
	}
	return decided, err
}

// returnUse gives back the use of a decision that was not executed, unless its proof was consumed. It reports whether it did.
func returnUse(ctx context.Context, q *pg.Q, a models.Authorization, outcome string, e events.Entry) (bool, error) {
	if a.StandingID == nil || !aggregate.NotExecuted(outcome) {
		return false, nil
	}
	consumed, err := proof.Consumed(ctx, q, e.Scope, a.ID)
	if err != nil || consumed {
		return false, err
	}
	if returned, err := standing.GiveBack(ctx, q, a); err != nil || !returned {
		return false, err
	}
	e.Data = events.StandingReturnedData{Standing: *a.StandingID}
	return true, events.Append(ctx, q, e)
}

// opening is the standing approval that a request asks for.
type opening struct {
	row models.StandingApproval
	// waits is whether a follow-up decision may begin it: it was not revoked meanwhile.
	waits bool
}

// openedBy returns the standing approval that the request of a follow-up decision asks for, and locks it.
func openedBy(ctx context.Context, q *pg.Q, r settle.FollowUp, parent models.Authorization) (*opening, error) {
	row, err := standing.Pending(ctx, q, pg.Scope{Tenant: parent.TenantID, Environment: parent.EnvironmentID}, *parent.OpensStanding)
	if errors.Is(err, pg.ErrNotFound) {
		err = q.Missing(r.Scope, "standing_approvals", *parent.OpensStanding)
	}
	return &opening{row: row, waits: row.Status == models.StandingPending && row.AuthorizationID == r.Parent && r.At.Before(row.EndsAt)}, err
}

// advance moves the standing approval with a follow-up decision about it.
func (d *decision) advance(ctx context.Context, q *pg.Q, r settle.FollowUp) error {
	if !d.in.opens.waits {
		return nil
	}
	a := d.row.Authorization
	moved, err := standing.Advance{
		ID: d.in.opens.row.ID, Parent: r.Parent, Made: a.ID, Passkey: r.Passkey, Held: r.HoldApproved, Begins: d.verdict.Effect == policy.Allow, At: r.At,
	}.Make(ctx, q, d.scope())
	if err == nil && !moved {
		err = settle.ErrChanged
	}
	return err
}

// standingData describes what a decision does to a standing approval; nil for nothing.
func standingData(d *decision) events.Data {
	if used := d.in.standing; used != nil {
		return events.StandingUsedData{Standing: used.ID, Uses: used.Uses, MaxUses: used.MaxUses}
	}
	o := d.in.opens
	switch {
	case o == nil:
		return nil
	case d.in.request != nil:
		return events.StandingRequestedData{Standing: o.row.ID, By: o.row.Source, MaxUses: o.row.MaxUses, EndsAt: apitime.Time(o.row.EndsAt)}
	case o.waits && d.verdict.Effect == policy.Allow:
		return events.StandingBegunData{Standing: o.row.ID, By: o.row.Source, MaxUses: o.row.MaxUses, EndsAt: apitime.Time(o.row.EndsAt)}
	}
	return nil
}

// StandingRequest asks for a standing approval (StandingApprovalCreate of the contract).
type StandingRequest struct {
	Subject  string                `json:"subject"`
	Action   string                `json:"action"`
	Audience string                `json:"audience"`
	By       policy.StandingSource `json:"by"`
	// ResourceID is the one resource; nil if the policy permits a pattern.
	ResourceID *string          `json:"resource_id"`
	Agent      *string          `json:"agent"` // nil for any
	MaxUses    int              `json:"max_uses"`
	MaxAmount  *standing.Amount `json:"max_amount"`
	EndsAt     string           `json:"ends_at"`
}

// OpenedStanding is the result of a request for a standing approval: the response of its decision, which waits.
type OpenedStanding struct {
	ID       string
	Response Response
	queued   bool
}

// OpenStanding asks the subject or reviewers for a standing approval, by an ordinary challenge or hold.
func (s *Service) OpenStanding(ctx context.Context, p identity.Principal, in StandingRequest, start time.Time) (OpenedStanding, error) {
	now := s.clock.Now()
	force, err := s.actions.InForce(ctx, p.Store(), in.Action)
	if err != nil {
		return OpenedStanding{}, err
	}
	r, row, terms, err := s.standingRequest(p, force, in, now)
	if err != nil {
		return OpenedStanding{}, err
	}
	r.start = start
	var out OpenedStanding
	for range maxAttempts {
		err = s.store.Write(ctx, func(q *pg.Q) (err error) {
			out, err = s.openStanding(ctx, q, r, force, row, terms)
			return err
		})
		if errors.Is(err, errAgain) {
			continue
		}
		if err == nil && out.queued {
			s.store.Wake(pg.ChannelOutbox, "")
		}
		return out, err
	}
	return OpenedStanding{}, problem.NewUnavailable("The subject is being changed by other requests. Nothing was asked; retry the request.", err)
}

// standingRequest checks a request for a standing approval against the policy, and returns it as a request about the action with its row and terms.
func (s *Service) standingRequest(p identity.Principal, force *action.InForce, in StandingRequest, now time.Time) (*request, models.StandingApproval, standing.Terms, error) {
	var none models.StandingApproval
	permits := force.Contract.Requirements.Standing
	if permits == nil {
		return nil, none, standing.Terms{}, problem.Newf(problem.Conflict, "The policy version %d of the action permits no standing approvals.", force.Version)
	}
	if force.Action.Mode == models.ModeShadow {
		return nil, none, standing.Terms{}, problem.New(problem.Conflict, "The action is in mode shadow, in which no one is asked.")
	}
	if !force.CallerAllowed(p.CredentialID) {
		return nil, none, standing.Terms{}, problem.New(problem.CallerNotAllowed, "The action's allowed_callers do not name this credential.")
	}
	if !force.AudienceAllowed(in.Audience) {
		return nil, none, standing.Terms{}, problem.New(problem.AudienceNotAllowed, "The action's allowed_audiences do not name this audience.")
	}
	c := standingChecks{permits: permits, in: in, now: now, plan: force}
	ends := c.check()
	if len(c.fields) > 0 {
		return nil, none, standing.Terms{}, problem.InvalidFields(c.fields)
	}
	terms := standing.Terms{Any: permits.Resource.Any, Prefix: permits.Resource.Prefix}
	on := "*"
	switch {
	case terms.Prefix != "":
		on = terms.Prefix + "*"
	case !terms.Any:
		terms.Resource, on = *in.ResourceID, *in.ResourceID
	}
	if in.Agent != nil {
		terms.Agent = *in.Agent
	}
	row := models.StandingApproval{
		ID: ids.New(ids.StandingApproval), TenantID: p.TenantID, EnvironmentID: p.EnvironmentID, ActionID: force.Action.ID, ActionKey: force.Action.Key,
		PolicyVersion: force.Version, PolicyHash: force.Hash, Mode: force.Action.Mode, Source: string(in.By), Audience: in.Audience, ResourceType: force.Action.ResourceType,
		MaxUses: in.MaxUses, EndsAt: ends, CreatedAt: now, CreatedBy: p.Actor(), Status: models.StandingPending, AmountUsed: "0",
	}
	if in.MaxAmount != nil {
		row.MaxAmount = &in.MaxAmount.Amount
		if in.MaxAmount.Currency != nil {
			row.Currency = *in.MaxAmount.Currency
		}
	}
	context, err := json.Marshal(map[string]any{"standing_approval": in})
	if err != nil {
		return nil, none, terms, err
	}
	r := &request{principal: p, Request: Request{
		Subject: in.Subject, Action: in.Action, Resource: Resource{Type: force.Action.ResourceType, ID: on}, Audience: in.Audience, Context: context,
	}}
	r.Nonce, r.RequestedAt = row.ID, now.Unix()
	return r, row, terms, r.digest()
}

// standingChecks collects what the policy does not permit of a request for a standing approval.
type standingChecks struct {
	permits *policy.Standing
	plan    *action.InForce
	in      StandingRequest
	now     time.Time
	fields  []problem.Field
}

func (c *standingChecks) refuse(field, msg string, values ...any) {
	loc := []any{"body"}
	for step := range strings.SplitSeq(field, ".") {
		loc = append(loc, step)
	}
	c.fields = append(c.fields, problem.Field{Loc: loc, Msg: fmt.Sprintf(msg, values...), Type: "value_error"})
}

// check returns the time until when the standing approval is wanted.
func (c *standingChecks) check() time.Time {
	in, permits := c.in, c.permits
	if !slices.Contains(permits.By, in.By) {
		c.refuse("by", "the policy permits no standing approval by %s", in.By)
	}
	if in.MaxUses > permits.MaxUses {
		c.refuse("max_uses", "the policy permits at most %d", permits.MaxUses)
	}
	one := !permits.Resource.Any && permits.Resource.Prefix == ""
	switch {
	case one && in.ResourceID == nil:
		c.refuse("resource_id", "the policy wants the one resource that is approved")
	case !one && in.ResourceID != nil:
		c.refuse("resource_id", "the policy wants a pattern approved; leave it out")
	case in.ResourceID != nil && displaytext.Fault(*in.ResourceID) != "":
		c.refuse("resource_id", "the id is shown to the person who approves, and must not contain %s", displaytext.Fault(*in.ResourceID))
	}
	switch {
	case in.Agent == nil && permits.Agent == policy.StandingNamed:
		c.refuse("agent", "the policy wants the agent named")
	case in.Agent != nil && !c.plan.People.NamesAgent():
		c.refuse("agent", "no property of the action's context_schema names an agent")
	case in.Agent != nil && displaytext.Fault(*in.Agent) != "":
		c.refuse("agent", "the agent is shown to the person who approves, and must not contain %s", displaytext.Fault(*in.Agent))
	}
	c.checkAmount()
	ends, err := apitime.Parse(in.EndsAt)
	switch latest := c.now.Add(time.Duration(permits.MaxDurationSeconds) * time.Second); {
	case err != nil:
		c.refuse("ends_at", "must be a time such as 2027-03-01T09:00:00Z")
	case !ends.After(c.now):
		c.refuse("ends_at", "must be in the future")
	case ends.After(latest):
		c.refuse("ends_at", "the policy permits at most %s: until %s", time.Duration(permits.MaxDurationSeconds)*time.Second, apitime.Time(latest))
	}
	return ends.UTC().Truncate(time.Millisecond)
}

func (c *standingChecks) checkAmount() {
	limit, wanted := c.permits.MaxAmount, c.in.MaxAmount
	switch {
	case limit == nil && wanted != nil:
		c.refuse("max_amount", "the policy limits no amount; leave it out")
	case limit != nil && wanted == nil:
		c.refuse("max_amount", "the policy wants an amount of at most %s", limit.Limit)
	}
	if limit == nil || wanted == nil {
		return
	}
	amount, okay := policy.ParseStandingAmount(wanted.Amount)
	most, _ := policy.ParseStandingAmount(limit.Limit)
	if !okay {
		c.refuse("max_amount.amount", "must be a decimal above 0 such as 1250.50, with at most 15 digits before the point and 4 after it")
	} else if amount.Cmp(most) > 0 {
		c.refuse("max_amount.amount", "the policy permits at most %s", limit.Limit)
	}
	field, _ := c.plan.Aggregates.Field(limit.Field)
	switch {
	case field.InCurrency() && (wanted.Currency == nil || !display.KnownCurrency(*wanted.Currency)):
		c.refuse("max_amount.currency", "must be a currency of ISO 4217 such as EUR")
	case field.Currency != "" && *wanted.Currency != field.Currency:
		c.refuse("max_amount.currency", "amounts of the action are in %s", field.Currency)
	case !field.InCurrency() && wanted.Currency != nil:
		c.refuse("max_amount.currency", "amounts of the action have no currency; leave it out")
	}
}

// openStanding decides and writes, in one transaction in which the subject is locked, so that their number holds.
func (s *Service) openStanding(ctx context.Context, q *pg.Q, r *request, force *action.InForce, row models.StandingApproval, terms standing.Terms) (OpenedStanding, error) {
	scope := r.principal.Store()
	sub, err := subjectrow.Lock(ctx, q, scope, r.Subject)
	if err != nil && !errors.Is(err, pg.ErrNotFound) {
		return OpenedStanding{}, err
	}
	facts, err := ReadFacts(ctx, q, scope, Wanted{Subject: r.Subject, Resource: r.countedAs, At: row.CreatedAt})
	if errors.Is(err, pg.ErrNotFound) {
		return OpenedStanding{}, problem.NotFoundBy("subject")
	}
	if err != nil {
		return OpenedStanding{}, err
	}
	if sub.Status != models.SubjectActive || sub.AdaptationFrozen {
		return OpenedStanding{}, problem.New(problem.Conflict, "The subject is revoked or frozen, and can have no standing approval.")
	}
	n, err := standing.InForce(ctx, q, scope, sub.UID, row.CreatedAt)
	if err != nil {
		return OpenedStanding{}, err
	}
	if n >= standing.MaxInForce {
		return OpenedStanding{}, problem.Newf(problem.Conflict, "The subject has %d standing approvals that are in force or wait for their approval. Revoke one before you ask for another.", standing.MaxInForce)
	}
	row.SubjectUID = sub.UID
	if row.Terms, err = s.standing.Seal(row.ID, terms); err != nil {
		return OpenedStanding{}, err
	}
	shown, err := standing.AllowanceOf(row, force.Action.Name, terms).Detail()
	if err != nil {
		return OpenedStanding{}, err
	}
	in, err := s.input(force, r, facts)
	if err != nil {
		return OpenedStanding{}, err
	}
	in.opens, in.details, in.kept = &opening{row: row, waits: true}, []display.Detail{shown}, nil
	in.base.OpensStanding, in.base.IdempotencyKey = &row.ID, nil
	d, err := s.decide(ctx, q, in, row.CreatedAt)
	if err != nil {
		return OpenedStanding{}, err
	}
	if err := refuseOpening(d); err != nil {
		return OpenedStanding{}, err
	}
	row.AuthorizationID = d.row.Authorization.ID
	if err := standing.Create(ctx, q, row); err != nil {
		return OpenedStanding{}, err
	}
	answer, err := s.write(ctx, q, d)
	return OpenedStanding{ID: row.ID, Response: d.response, queued: answer.queued}, err
}

// refuseOpening refuses a standing approval that the policy denies, or that the subject cannot give.
func refuseOpening(d *decision) error {
	codes := strings.Join(d.verdict.ReasonCodes, ", ")
	switch {
	case d.verdict.Effect == policy.Deny:
		return problem.Newf(problem.Conflict, "The policy denies the standing approval: %s.", codes)
	case slices.Contains(d.verdict.ReasonCodes, reason.NoChallengeMethod):
		return problem.New(problem.Conflict, "The subject can use none of the policy's challenge methods: register a passkey first.")
	}
	return nil
}
