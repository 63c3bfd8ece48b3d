package console

import (
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

// takers returns the names of the reviewers who have taken holds.
func (c *console) takers(v *visit, rows []hold.Queued) (map[string]string, error) {
	var actors []string
	for _, r := range rows {
		if r.AssignedTo != nil {
			actors = append(actors, *r.AssignedTo)
		}
	}
	return c.Reader.Names(v.ctx, v.principal().TenantID, actors)
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
		return &notice{"warn", "A different reviewer has taken this hold in the meantime. Nothing was changed."}
	}
	return &notice{"warn", "The hold is settled. Nothing was changed."}
}

// viewers records that the user has the hold open and returns the names of the others who have.
func (c *console) viewers(v *visit, id string) ([]string, error) {
	others, err := c.Holds.View(v.ctx, v.principal(), id)
	if err != nil {
		return nil, err
	}
	names, err := c.Reader.Names(v.ctx, v.principal().TenantID, others)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(others))
	for i, other := range others {
		out[i] = actorOf(other, names).Name
	}
	return out, nil
}
