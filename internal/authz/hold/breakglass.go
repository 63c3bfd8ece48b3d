package hold

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/identity"
	reviewteams "github.com/countersign-dev/countersign/internal/account/team"
	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// checkReason requires the reason of a break-glass. It is stored in every environment: those who review it afterwards read it.
func checkReason(vote Vote) error {
	if vote.Resolution != BreakGlass {
		return nil
	}
	if vote.Note == nil || strings.TrimSpace(*vote.Note) == "" {
		return problem.Invalid([]any{"body", "note"}, "a break-glass needs a note that says why", "missing")
	}
	return displaytext.CheckLines("note", *vote.Note)
}

// brokeGlass reports whether the hold was approved by a break-glass.
func (c Case) brokeGlass() bool {
	return slices.ContainsFunc(c.Reviews, func(r models.Review) bool { return r.Resolution == BreakGlass })
}

// refuseSettled is the function of this name for a hold whose reviews are known: only one that was approved by a break-glass was resolved the same way
// as another.
func (c Case) refuseSettled(status models.HoldStatus, resolution string) error {
	if resolution == BreakGlass && status == models.HoldApproved && c.brokeGlass() {
		return nil
	}
	return refuseSettled(status, resolution)
}

// refuseBreakGlass returns why an actor may not approve the hold alone at a time: the policy names no team, the request is or may be the actor's own, the
// actor is no member of the team whose approval would count, or an earlier break-glass bars it. A deputy cannot break the glass for a member.
func refuseBreakGlass(ctx context.Context, q *pg.Q, c Case, vote models.Review) error {
	if c.GlassTeam == nil {
		return problem.New(problem.Forbidden, "The policy of the hold has no break-glass: no one can approve it alone.")
	}
	owners := []string{c.requester()}
	if c.RequesterPerson != nil {
		owners = append(owners, personActor(*c.RequesterPerson))
	}
	behind, err := identity.ActorsBehind(ctx, q, c.scope(), append(owners, vote.Reviewer)...)
	if err != nil {
		return err
	}
	by := behind[vote.Reviewer]
	if slices.ContainsFunc(owners, func(owner string) bool { return by.MayBeSame(behind[owner]) }) {
		return problem.New(problem.SelfReview, "No one can break the glass for their own request, and you are or may be the one who requested it.")
	}
	counts, err := countsAlone(ctx, q, c, vote)
	if err != nil {
		return err
	}
	teams, err := reviewteams.TeamsOf(ctx, q, c.scope(), []string{vote.Reviewer})
	if err != nil {
		return err
	}
	if !counts || by.Former != "" || !slices.Contains(teams[vote.Reviewer], *c.GlassTeam) {
		return problem.Newf(problem.Forbidden, "Only a member of the team %q whose approval of the hold would count can break the glass.", *c.GlassTeam)
	}
	return afterreview.Refuse(ctx, q, c.scope(), vote.Reviewer, c.ActionID, vote.At)
}

// countsAlone reports whether an approval by the reviewer would be one of a reviewer in good standing, and checks what says so.
func countsAlone(ctx context.Context, q *pg.Q, c Case, vote models.Review) (bool, error) {
	vote.Resolution = Approve
	if err := pg.Sign(ctx, q, &vote); err != nil {
		return false, err
	}
	given, err := approversWith(ctx, q, c.scope(), vote)
	if err != nil {
		return false, err
	}
	mine := slices.DeleteFunc(given, func(a Approver) bool { return a.Reviewer != vote.Reviewer || a.Step != vote.Step })
	return len(mine) > 0, checkCounted(ctx, q, mine)
}

// breakGlass approves the hold by one person alone, and opens the review that follows.
func (v *review) breakGlass(ctx context.Context) (Outcome, error) {
	if err := v.verify(ctx, v.store.Q); err != nil {
		return Outcome{}, err
	}
	if err := refuseBreakGlass(ctx, v.store.Q, v.Case, v.vote); err != nil {
		return Outcome{}, err
	}
	out, err := v.followUp(ctx, settled{
		data:  events.HoldApprovedData{BreakGlass: onlyTrue(true)},
		queue: func(b *pgx.Batch) error { return v.queueBroken(ctx, b) },
	})
	out.BreakGlass = true
	return out, afterreview.Opened(err)
}

// voteOn returns what would be recorded of a review of the hold.
func voteOn(c Case, by Approver, step int, at time.Time) models.Review {
	return models.Review{
		AuthorizationID: c.AuthorizationID, EnvironmentID: c.EnvironmentID, Reviewer: by.Reviewer, Principal: by.Principal, Step: step, Resolution: BreakGlass, At: at,
	}
}

// queueBroken adds the after-review, with its event and the notices of those who were skipped.
func (v *review) queueBroken(ctx context.Context, b *pgx.Batch) error {
	at := v.move.At
	after := models.AfterReview{
		AuthorizationID: v.AuthorizationID, TenantID: v.TenantID, EnvironmentID: v.EnvironmentID, ActionID: v.ActionID, BrokenBy: v.vote.Reviewer,
		Principal: v.vote.Principal, RequestedBy: v.Case.requester(), RequesterPerson: v.RequesterPerson, Team: *v.GlassTeam, ReasonDigest: optional(v.vote.NoteDigest),
		Approvals: v.GlassApprovals, OpenedAt: at, DueAt: at.Add(time.Duration(v.GlassSeconds) * time.Second), Status: models.AfterReviewOpen,
	}
	var skipped []string
	for _, s := range v.Steps {
		if s.SatisfiedAt == nil {
			skipped = append(skipped, s.Name)
		}
	}
	entry := v.entry(events.HoldGlassBrokenData{
		BrokenBy: after.BrokenBy, Team: after.Team, Skipped: skipped, Approvals: after.Approvals, DueAt: apitime.Time(after.DueAt), RiskClass: v.RiskClass,
	})
	if err := afterreview.Queue(ctx, v.store.Q, b, after, entry); err != nil {
		return err
	}
	events.QueueOutbox(b, NoticeOf(v.Hold, models.NoticeBreakGlass, at))
	return events.Queue(b, entry, pg.Causes{})
}

// mayBreakGlass reports whether the caller may approve the hold alone now.
func (s *Service) mayBreakGlass(ctx context.Context, c Case, caller Approver) (bool, error) {
	if c.GlassTeam == nil {
		return false, nil
	}
	err := refuseBreakGlass(ctx, s.store.Q, c, voteOn(c, caller, 0, s.clock.Now()))
	if problem.As(err) != nil && problem.Of(problem.As(err).Code).Status < 500 {
		return false, nil
	}
	return err == nil, err
}

// Skipped returns those of the people, by id, whose approvals a break-glass replaced: members of the teams of the steps that were not approved, the people
// whom those steps name, and every reviewer if one of them takes anyone's approval. The one who broke the glass is not among them.
func (s *Service) Skipped(ctx context.Context, h models.Hold, people []string) ([]string, error) {
	c, err := readCase(ctx, s.store.Q, pg.Scope{Tenant: h.TenantID, Environment: h.EnvironmentID}, h.AuthorizationID, nil)
	if err != nil || !c.brokeGlass() {
		return nil, err
	}
	actors := make([]string, len(people))
	for i, p := range people {
		actors[i] = personActor(p)
	}
	able, err := reviewteams.ReviewersOfTeams(ctx, s.store.Q, c.scope(), actors, s.clock.Now())
	if err != nil {
		return nil, err
	}
	members, err := membersOf(ctx, s.store.Q, c.scope(), s.clock.Now(), able, c.Teams...)
	if err != nil {
		return nil, err
	}
	b := ballot{steps: stepsOf(c.ApprovalsRequired, c.Steps, c.Teams), membership: members, at: s.clock.Now()}
	var out []string
	for _, actor := range able {
		skipped := slices.ContainsFunc(b.steps, func(st step) bool {
			return st.row.SatisfiedAt == nil && poll{step: st, ballot: b}.admits(Approver{Review: models.Review{Reviewer: actor}})
		})
		if skipped && actor != optional(c.ResolvedBy) {
			out = append(out, personOf(actor))
		}
	}
	return out, nil
}
