package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// reviewHandlers serve holds and their reviews.
type reviewHandlers struct {
	Holds    *hold.Service
	Reviewer *hold.Reviewer
	After    *afterreview.Service
}

func (h *reviewHandlers) list(c *fiber.Ctx) error {
	filter := hold.Filter{
		Status: models.HoldStatus(c.Query("status")), Action: c.Query("action"), RiskClass: c.Query("risk_class"),
		Subject: c.Query("subject"), MostUrgent: c.Query("order") == "due",
		DueBefore: queryTime(c, "due_before"), OpenedBefore: queryTime(c, "opened_before"), Assignee: c.Query("assigned_to"),
	}
	if filter.Assignee == "me" {
		filter.Assignee = request.Principal(c).Actor()
	}
	search := hold.Search{Text: c.Query("q"), ByAmount: c.Query("order") == "amount"}
	read := h.Holds.Queue
	if search != (hold.Search{}) {
		read = func(ctx context.Context, p identity.Principal, f hold.Filter, paging pg.Page) ([]hold.Queued, string, error) {
			return h.Holds.SearchPage(ctx, p, f, search, paging)
		}
	}
	rows, next, err := read(request.Context(c), request.Principal(c), filter, page(c))
	return replyList(c, viewHeld, rows, next, err)
}

func viewHeld(r hold.Queued) wire.HeldReview {
	selfReview := policy.SelfReviewAllowed
	if r.SelfReviewBarred {
		selfReview = policy.SelfReviewBarred
	}
	reviewable := r.Status == models.HoldPending && !r.Barred
	var shown *authorization.Shown
	if len(r.Shown) > 0 {
		shown = &authorization.Shown{Details: r.Shown}
	}
	return wire.HeldReview{
		Authorization: r.AuthorizationID, Action: r.ActionKey, Subject: r.Subject, RiskClass: r.RiskClass,
		ReasonCodes: nonNil(r.ReasonCodes), OpenedAt: wire.Time(r.OpenedAt), RemindedAt: (*wire.Time)(r.RemindedAt),
		DueAt: wire.Time(r.DueAt), ReviewStatus: string(r.Status),
		Approvals:  hold.Approvals{Given: r.Approvals, Required: r.ApprovalsRequired},
		SelfReview: string(selfReview), YourResolution: r.OwnResolution, Reviewable: reviewable, Display: shown,
		Approvable: reviewable && r.Approvable, Teams: r.Teams, Steps: r.Stages, AssignedTo: r.AssignedTo,
	}
}

func (h *reviewHandlers) counts(c *fiber.Ctx) error {
	n, err := h.Holds.Counts(request.Context(c), request.Principal(c).Store(), c.Query("action"), c.Query("risk_class"))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusOK).JSON(wire.ReviewCounts{
		AsOf: wire.Time(n.AsOf), Pending: int(n.Pending),
		Due:      wire.ReviewsDue{Within1h: int(n.WithinHour), Within24h: int(n.WithinDay - n.WithinHour), Later: int(n.Pending - n.WithinDay)},
		Reminded: int(n.Reminded), PartlyApproved: int(n.PartlyApproved),
		OldestOpenedAt: (*wire.Time)(n.OldestOpenedAt), NextDueAt: (*wire.Time)(n.NextDueAt),
		ByRiskClass: n.ByRisk, ByAction: n.ByAction,
	})
}

// listAfter lists the reviews of break-glasses.
func (h *reviewHandlers) listAfter(c *fiber.Ctx) error {
	rows, next, err := h.After.List(request.Context(c), request.Principal(c).Store(), models.AfterReviewStatus(c.Query("status")), page(c))
	return replyList(c, func(v afterreview.View) afterreview.View { return v }, rows, next, err)
}

// giveVerdict says whether a break-glass was justified.
func (h *reviewHandlers) giveVerdict(c *fiber.Ctx) error {
	body, err := bind[wire.AfterReviewVerdict](c)
	if err != nil {
		return err
	}
	out, err := h.After.Review(request.Context(c), request.Principal(c), c.Params("authorization_id"), models.AfterReviewStatus(body.Verdict), body.Note)
	return reply(c, fiber.StatusOK, out, err)
}

func (h *reviewHandlers) withdraw(c *fiber.Ctx) error {
	receipt, err := h.Holds.Withdraw(request.Context(c), request.Principal(c), c.Params("authorization_id"))
	return reply(c, fiber.StatusOK, receipt, err)
}

func (h *reviewHandlers) review(c *fiber.Ctx) error {
	body, err := bind[wire.ManualReviewRequest](c)
	if err != nil {
		return err
	}
	vote := hold.Vote{Resolution: body.Resolution, Note: body.Note}
	if body.Step != nil {
		vote.Step = *body.Step
	}
	done, err := h.Reviewer.Review(request.Context(c), request.Principal(c), c.Params("authorization_id"), vote)
	switch {
	case err != nil:
		return err
	case done.Pending != nil:
		return c.Status(fiber.StatusAccepted).JSON(done.Pending)
	}
	return sendRaw(c, fiber.StatusOK, done.Receipt)
}
