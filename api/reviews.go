package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/authz/afterreview"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
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

type heldReview struct {
	Authorization  string               `json:"authorization"`
	Action         string               `json:"action"`
	Subject        string               `json:"subject"`
	RiskClass      string               `json:"risk_class"`
	ReasonCodes    models.Strings       `json:"reason_codes"`
	OpenedAt       string               `json:"opened_at"`
	RemindedAt     *string              `json:"reminded_at"`
	DueAt          string               `json:"due_at"`
	ReviewStatus   string               `json:"review_status"`
	Approvals      hold.Approvals       `json:"approvals"`
	SelfReview     string               `json:"self_review"`
	YourResolution *string              `json:"your_resolution"`
	Reviewable     bool                 `json:"reviewable"`
	Approvable     bool                 `json:"approvable"`
	AssignedTo     *string              `json:"assigned_to"`
	Teams          []hold.Wanted        `json:"teams,omitempty"`
	Steps          []hold.Stage         `json:"steps,omitempty"`
	Display        *authorization.Shown `json:"display"`
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

func viewHeld(r hold.Queued) heldReview {
	selfReview := policy.SelfReviewAllowed
	if r.SelfReviewBarred {
		selfReview = policy.SelfReviewBarred
	}
	reviewable := r.Status == models.HoldPending && !r.Barred
	var shown *authorization.Shown
	if len(r.Shown) > 0 {
		shown = &authorization.Shown{Details: r.Shown}
	}
	return heldReview{
		Authorization: r.AuthorizationID, Action: r.ActionKey, Subject: r.Subject, RiskClass: r.RiskClass,
		ReasonCodes: append(models.Strings{}, r.ReasonCodes...), OpenedAt: apitime.Time(r.OpenedAt), RemindedAt: apitime.OptionalTime(r.RemindedAt),
		DueAt: apitime.Time(r.DueAt), ReviewStatus: string(r.Status),
		Approvals:  hold.Approvals{Given: r.Approvals, Required: r.ApprovalsRequired},
		SelfReview: string(selfReview), YourResolution: r.OwnResolution, Reviewable: reviewable, Display: shown,
		Approvable: reviewable && r.Approvable, Teams: r.Teams, Steps: r.Stages, AssignedTo: r.AssignedTo,
	}
}

type reviewCounts struct {
	AsOf           string            `json:"as_of"`
	Pending        int64             `json:"pending"`
	Due            dueCounts         `json:"due"`
	Reminded       int64             `json:"reminded"`
	PartlyApproved int64             `json:"partly_approved"`
	OldestOpenedAt *string           `json:"oldest_opened_at"`
	NextDueAt      *string           `json:"next_due_at"`
	ByRiskClass    []hold.KeyedCount `json:"by_risk_class"`
	ByAction       []hold.KeyedCount `json:"by_action"`
}

type dueCounts struct {
	WithinHour int64 `json:"within_1h"`
	WithinDay  int64 `json:"within_24h"`
	Later      int64 `json:"later"`
}

func (h *reviewHandlers) counts(c *fiber.Ctx) error {
	n, err := h.Holds.Counts(request.Context(c), request.Principal(c).Store(), c.Query("action"), c.Query("risk_class"))
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusOK).JSON(reviewCounts{
		AsOf: apitime.Time(n.AsOf), Pending: n.Pending,
		Due:      dueCounts{WithinHour: n.WithinHour, WithinDay: n.WithinDay - n.WithinHour, Later: n.Pending - n.WithinDay},
		Reminded: n.Reminded, PartlyApproved: n.PartlyApproved,
		OldestOpenedAt: apitime.OptionalTime(n.OldestOpenedAt), NextDueAt: apitime.OptionalTime(n.NextDueAt),
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
	body, err := bind[struct {
		Verdict models.AfterReviewStatus `json:"verdict"`
		Note    string                   `json:"note"`
	}](c)
	if err != nil {
		return err
	}
	out, err := h.After.Review(request.Context(c), request.Principal(c), c.Params("authorization_id"), body.Verdict, body.Note)
	return reply(c, fiber.StatusOK, out, err)
}

func (h *reviewHandlers) withdraw(c *fiber.Ctx) error {
	receipt, err := h.Holds.Withdraw(request.Context(c), request.Principal(c), c.Params("authorization_id"))
	return reply(c, fiber.StatusOK, receipt, err)
}

func (h *reviewHandlers) review(c *fiber.Ctx) error {
	body, err := bind[struct {
		Resolution string  `json:"resolution"`
		Note       *string `json:"note"`
		Step       *string `json:"step"`
	}](c)
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
