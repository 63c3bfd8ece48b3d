package hold

import (
	"context"
	"errors"
	"slices"
	"time"

	reviewteams "github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/models"
)

// StatusLife is how long the status page of a hold is available after its end.
const StatusLife = 7 * 24 * time.Hour

// The states of a hold as the person who waits sees it.
const (
	StatusWaiting   = "waiting"
	StatusApproved  = "approved"
	StatusDeclined  = "declined" // rejected, or approved and then denied
	StatusExpired   = "expired"
	StatusWithdrawn = "withdrawn"
)

// Status has the part of a hold that the person who waits may see: no details, no amounts and no names of people.
type Status struct {
	Environment models.Environment // with its brand
	State       string
	// Teams are the names of those that the open step waits for; AnyReviewer is set if it waits for further approvals of any reviewer.
	// Approver is set if it waits for a person whom the request names.
	Teams       []string
	Approver    bool
	AnyReviewer bool
	// Step is the number of the open step, from 1, of Steps; both are 0 for a hold without steps.
	Step, Steps int
	Since       time.Time // the open step waits since then
	DueAt       time.Time
	EndedAt     *time.Time // nil while it waits
}

// Status returns the status of the hold of an authorization. The caller has checked the link. It returns pg.ErrNotFound for a hold that is
// missing or ended longer ago than StatusLife.
func (s *Service) Status(ctx context.Context, environment, id string) (Status, error) {
	now := s.clock.Now()
	c, err := readCase(ctx, s.store.Q, pg.Scope{Environment: environment}, id, nil)
	if err != nil {
		return Status{}, err
	}
	out := Status{State: StatusWaiting, Since: c.OpenedAt, DueAt: c.DueAt}
	status := Effective(c.Hold, now)
	if status != models.HoldPending {
		out.EndedAt = c.ResolvedAt
		if c.ResolvedAt == nil { // due, although its timer has not fired
			out.EndedAt = &c.DueAt
		}
		if now.After(out.EndedAt.Add(StatusLife)) {
			return Status{}, pg.ErrNotFound
		}
	}
	if out.Environment, err = tenancy.BrandedEnvironment(ctx, s.store.Q, c.scope()); err != nil {
		return Status{}, err
	}
	switch status {
	case models.HoldPending:
		return out, s.awaits(ctx, c, now, &out)
	case models.HoldApproved:
		o, err := s.outcomeOf(ctx, c, now)
		if out.State = StatusApproved; o.Decision != policy.Allow {
			out.State = StatusDeclined
		}
		return out, err
	case models.HoldRejected:
		out.State = StatusDeclined
	default:
		out.State = string(status)
	}
	return out, nil
}

// awaits adds whom a pending hold waits for.
func (s *Service) awaits(ctx context.Context, c Case, now time.Time, out *Status) error {
	tally, err := s.tally(ctx, c, now)
	if err != nil {
		return err
	}
	lacks := tally.Required - tally.Given
	if len(c.Steps) > 0 {
		at := min(tally.Open, len(c.Steps)-1)
		out.Step, out.Steps = at+1, len(c.Steps)
		lacks = tally.Stages[at].Approvals.Required - tally.Stages[at].Approvals.Given
		if opened := c.Steps[at].OpenedAt; opened != nil {
			out.Since = *opened
		}
	}
	for _, w := range tally.Teams {
		lacks -= max(w.Approvals-w.Given, 0)
	}
	out.AnyReviewer = lacks > 0
	keys := missing(tally.Teams)
	out.Approver = slices.ContainsFunc(tally.Teams, func(w Wanted) bool { return w.Given < w.Approvals && w.Of() != w.Group })
	if len(keys) == 0 {
		return nil
	}
	teams, err := reviewteams.ByName(ctx, s.store.Q, c.scope(), keys)
	for _, t := range teams {
		out.Teams = append(out.Teams, t.Name)
	}
	slices.Sort(out.Teams)
	return err
}

// StatusLasts reports whether the status page of a hold is still available.
func (s *Service) StatusLasts(ctx context.Context, environment, id string) (bool, error) {
	_, err := s.Status(ctx, environment, id)
	if errors.Is(err, pg.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
