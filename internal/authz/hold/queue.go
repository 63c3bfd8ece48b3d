package hold

import (
	"context"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/account/identity"
	reviewteams "github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// Queued is a hold in the queue of one reviewer.
type Queued struct {
	QueuedHold
	// Barred reports that self-review is barred and the request is by a credential of this reviewer.
	Barred bool
	// Shown are the details of the request, and Outline is the request in one line; nil and empty for an action that shows none.
	Shown   []display.Detail
	Outline display.Outline
	// Teams are those that the hold requires, with what each has given; nil if it requires none.
	Teams []Wanted
	// Stages are the steps of the hold; nil for one without steps.
	Stages []Stage
	// Approvable reports whether an approval by this reviewer can count: false for one who belongs to none of the teams, and for a key that
	// was given to a different principal.
	Approvable bool
}

// Obstacle is why an approval by this reviewer would not count now; empty if it would.
func (q Queued) Obstacle() string {
	switch {
	case q.Barred:
		return ObstacleSelf
	case q.OwnResolution != nil && *q.OwnResolution == Approve:
		return ObstacleGiven
	case !q.Counts:
		return ObstacleUnconfirmed
	case !q.Approvable:
		return ObstacleTeam
	default:
		return ""
	}
}

// Queue lists holds for a reviewer, newest first or soonest due first. Without a status it lists pending holds.
func (s *Service) Queue(ctx context.Context, p identity.Principal, f Filter, page pg.Page) ([]Queued, string, error) {
	f.Now, f.Reviewer = s.clock.Now(), p.Actor()
	if f.Status == "" {
		f.Status = models.HoldPending
	}
	env, err := tenancy.GetEnvironment(ctx, s.store.Q, p.Store())
	if err != nil {
		return nil, "", err
	}
	by, err := identity.PrincipalBehind(ctx, s.store.Q, p.Store(), p.Actor())
	if err != nil {
		return nil, "", err
	}
	f.Principal = by.Principal
	rows, next, err := queryQueue(ctx, s.store.Q, p.Store(), f, page)
	if err != nil {
		return nil, "", err
	}
	own, err := s.ownRequests(ctx, p, by, env, rows)
	out := make([]Queued, len(rows))
	for i, row := range rows {
		row.SelfReviewBarred = bars(row.SelfReviewBarred, env)
		if row.Status == models.HoldPending && !f.Now.Before(row.DueAt) {
			row.Status = models.HoldExpired
		}
		shown, err := s.vault.Open(row.AuthorizationID, row.Details)
		if err != nil {
			return nil, "", err
		}
		out[i] = Queued{QueuedHold: row, Barred: row.SelfReviewBarred && own[row.CredentialID], Shown: shown, Outline: display.Outlined(shown), Approvable: by.Former == ""}
	}
	if err != nil {
		return nil, "", err
	}
	return out, next, s.addTeams(ctx, p, out, env)
}

// Need returns the caller as a reviewer whom holds may need, for Filter.Need.
func (s *Service) Need(ctx context.Context, p identity.Principal) (*Need, error) {
	as, err := standingOfHolds(ctx, s.store.Q, p.Store(), p.Actor(), s.clock.Now())
	if err != nil {
		return nil, err
	}
	teams, err := reviewteams.TeamsOf(ctx, s.store.Q, p.Store(), []string{as.Reviewer, as.Absent})
	if err != nil {
		return nil, err
	}
	env, err := tenancy.GetEnvironment(ctx, s.store.Q, p.Store())
	if err != nil {
		return nil, err
	}
	own, err := identity.KeysOf(ctx, s.store.Q, p.Store(), as.Principal)
	return &Need{
		Reviewer: p.Actor(), Principal: as.Principal, Absent: as.AbsentPrincipal, Teams: slices.Concat(teams[as.Reviewer], teams[as.Absent]), Own: own, SelfBarred: env.BarSelfReview,
	}, err
}

// ownRequests returns the credentials of the reviewer among those that requested holds which bar self-review.
func (s *Service) ownRequests(ctx context.Context, p identity.Principal, by identity.Behind, env models.Environment, rows []QueuedHold) (map[string]bool, error) {
	var requesters []string
	for _, row := range rows {
		if bars(row.SelfReviewBarred, env) && !slices.Contains(requesters, row.CredentialID) {
			requesters = append(requesters, row.CredentialID)
		}
	}
	if len(requesters) == 0 {
		return nil, nil
	}
	return s.ownedBy(ctx, p.Store(), by, requesters)
}

// Counts summarises the pending holds of an environment.
type Counts struct {
	QueueCounts
	AsOf time.Time
}

// Counts counts the pending holds now. An action key or a risk class that is not empty narrows the count.
func (s *Service) Counts(ctx context.Context, scope pg.Scope, action, risk string) (Counts, error) {
	now := s.clock.Now()
	n, err := CountHolds(ctx, s.store.Q, scope, action, risk, now)
	return Counts{QueueCounts: n, AsOf: now}, err
}

// bars reports whether self-review of a hold is barred: by its policy, or by the current settings of its environment.
func bars(h bool, env models.Environment) bool { return h || env.BarSelfReview }

// refuseSelfReview refuses a reviewer who owns the requesting credential, if self-review is barred, and a key that two principals may have. It
// refuses the approval of one who may be the owner as well.
func (s *Service) refuseSelfReview(ctx context.Context, c Case, by, requester identity.Behind, resolution string) error {
	if by.Former != "" {
		return problem.New(problem.Forbidden, "This key was given to a different principal, so it may request but not review. Review with a key that was issued to you.")
	}
	own, err := s.selfReview(ctx, c, by, requester)
	switch {
	case err != nil || !own:
		return err
	case by.SamePrincipal(requester):
		return problem.New(problem.SelfReview, "The hold requires a reviewer other than the requester. Keys that one key issued count as that key.")
	case resolution == Approve:
		return problem.New(problem.SelfReview, "The hold requires a reviewer other than the requester, and you may be the requester: one of you was invited by the other, or one was invited "+
			"and an identity provider signs the other in. An operator who is neither confirms the account under People, or links the two. You can reject the hold.")
	default:
		return nil
	}
}

// selfReview reports whether the caller owns the requesting credential, or may be its owner, and self-review is barred.
func (s *Service) selfReview(ctx context.Context, c Case, by, requester identity.Behind) (bool, error) {
	if !by.MayBeSame(requester) {
		return false, nil
	}
	return barsSelfReview(ctx, s.store.Q, c)
}

// ownedBy returns, for each credential, whether it belongs to a principal of the caller.
func (s *Service) ownedBy(ctx context.Context, scope pg.Scope, caller identity.Behind, requesters []string) (map[string]bool, error) {
	requested, err := identity.PrincipalsBehind(ctx, s.store.Q, scope, requesters)
	out := make(map[string]bool, len(requested))
	for id, by := range requested {
		out[id] = caller.MayBeSame(by)
	}
	return out, err
}

// Position returns how many holds of the queue precede a hold and the length of the queue. before is -1 if the hold is not in it.
func (s *Service) Position(ctx context.Context, scope pg.Scope, f Filter, id string) (before, total int64, err error) {
	f.Now = s.clock.Now()
	if f.Status == "" {
		f.Status = models.HoldPending
	}
	return positionInQueue(ctx, s.store.Q, scope, f, id)
}
