package console

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// taken is the assignment of a hold, with its form.
type taken struct {
	By       actor
	Mine     bool
	Previous string // the reviewer that the form takes the hold from
	Action   string // URL of the form; empty if the user cannot take the hold
}

// takers returns who has holds open, by hold, and the names of those who have or have taken one.
func (c *console) takers(v *visit, rows []hold.Queued) (viewers map[string][]string, names map[string]string, err error) {
	ids := make([]string, len(rows))
	var actors []string
	for i, r := range rows {
		ids[i] = r.AuthorizationID
		if r.AssignedTo != nil {
			actors = append(actors, *r.AssignedTo)
		}
	}
	if viewers, err = c.Holds.Viewers(v.ctx, v.principal(), ids...); err != nil {
		return nil, nil, err
	}
	for _, by := range viewers {
		actors = append(actors, by...)
	}
	names, err = c.Reader.Names(v.ctx, v.principal().TenantID, actors)
	return viewers, names, err
}

// takerOf returns the name of the reviewer who has a hold: "you" for the user, empty for no one.
func takerOf(v *visit, by *string, names map[string]string) string {
	switch {
	case by == nil:
		return ""
	case *by == v.principal().Actor():
		return "you"
	default:
		return actorOf(*by, names).Name
	}
}

// takenBy describes the assignment of the open hold.
func (c *console) takenBy(v *visit, h *models.Hold) taken {
	var out taken
	if h.AssignedTo != nil {
		names, err := c.Reader.Names(v.ctx, v.principal().TenantID, []string{*h.AssignedTo})
		if err != nil {
			names = nil // the page shows the id instead
		}
		out.By, out.Mine, out.Previous = actorOf(*h.AssignedTo, names), *h.AssignedTo == v.principal().Actor(), *h.AssignedTo
	}
	if v.may(Review) && hold.Effective(*h, c.Clock.Now()) == models.HoldPending {
		out.Action = v.at("reviews", h.AuthorizationID, "assign") + v.deskFilter().suffix()
	}
	return out
}

// assign takes or releases a hold. It needs no use of the passkey: an assignment decides nothing.
func (c *console) assign(v *visit) error {
	id := v.param("id")
	var err error
	if v.form("release") != "" {
		_, err = c.Holds.Release(v.ctx, v.principal(), id)
	} else {
		_, err = c.Holds.Take(v.ctx, v.principal(), id, v.form("previous"))
	}
	if p := problem.As(err); p != nil && p.Code != problem.NotFound && p.Code != problem.NotHeld {
		request.SetProblemCode(v.Ctx, p.Code)
		return c.showReview(v, problem.Of(p.Code).Status, refusedAssignment(p), "")
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.at("reviews", id)+v.deskFilter().suffix(), fiber.StatusSeeOther)
}

func refusedAssignment(p *problem.Error) *notice {
	if p.Code == problem.Conflict {
		return &notice{"warn", "A colleague was assigned this hold in the meantime. Nothing was changed."}
	}
	return &notice{"warn", "The hold is settled. Nothing was changed."}
}

// view records that the user has the hold open, and adds the names of the others who have.
func (c *console) view(v *visit, view *reviewView) error {
	id := view.Case.Trace.ID
	at, err := c.Holds.View(v.ctx, v.principal(), id, v.Get(refreshHeader) != "")
	if err != nil {
		return err
	}
	view.Leave = v.at("reviews", id, "leave") + "?seen=" + strconv.FormatInt(at.UnixMicro(), 10)
	others, err := c.Holds.Viewers(v.ctx, v.principal(), id)
	if err != nil {
		return err
	}
	names, err := c.Reader.Names(v.ctx, v.principal().TenantID, others[id])
	for _, other := range others[id] {
		view.Viewers = append(view.Viewers, actorOf(other, names).Name)
	}
	return err
}

// leave records that the user has closed the page of a hold, as it was read at a time.
func (c *console) leave(v *visit) error {
	seen, err := strconv.ParseInt(v.query("seen"), 10, 64)
	if err != nil {
		return problem.New(problem.BadRequest, "seen must be the time of the page in microseconds.")
	}
	if err := c.Holds.Leave(v.ctx, v.principal(), v.param("id"), time.UnixMicro(seen)); err != nil {
		return err
	}
	return v.SendStatus(fiber.StatusNoContent)
}
