package reviews

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/hold"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/web/console/show"
)

// taken is the assignment of a hold, with its form.
type taken struct {
	By       show.Actor
	Mine     bool
	Previous string // the reviewer that the form takes the hold from
	Action   string // URL of the form; empty if the user cannot take the hold
}

// takers returns who has holds open, by hold, and the names of those who have or have taken one.
func (c *Pages) takers(v *shell.Visit, rows []hold.Queued) (viewers map[string][]string, names map[string]string, err error) {
	ids := make([]string, len(rows))
	var actors []string
	for i, r := range rows {
		ids[i] = r.AuthorizationID
		if r.AssignedTo != nil {
			actors = append(actors, *r.AssignedTo)
		}
	}
	if viewers, err = c.Holds.Viewers(v.Context, v.Principal(), ids...); err != nil {
		return nil, nil, err
	}
	for _, by := range viewers {
		actors = append(actors, by...)
	}
	names, err = c.Reader.Names(v.Context, v.Principal().TenantID, actors)
	return viewers, names, err
}

// takerOf returns the name of the reviewer who has a hold: "you" for the user, empty for no one.
func takerOf(v *shell.Visit, by *string, names map[string]string) string {
	switch {
	case by == nil:
		return ""
	case *by == v.Principal().Actor():
		return "you"
	default:
		return show.ActorOf(*by, names).Name
	}
}

// takenBy describes the assignment of the open hold.
func (c *Pages) takenBy(v *shell.Visit, h *models.Hold) taken {
	var out taken
	if h.AssignedTo != nil {
		names, err := c.Reader.Names(v.Context, v.Principal().TenantID, []string{*h.AssignedTo})
		if err != nil {
			names = nil // the page shows the id instead
		}
		out.By, out.Mine, out.Previous = show.ActorOf(*h.AssignedTo, names), *h.AssignedTo == v.Principal().Actor(), *h.AssignedTo
	}
	if v.May(shell.Review) && hold.Effective(*h, c.Clock.Now()) == models.HoldPending {
		out.Action = v.At("reviews", h.AuthorizationID, "assign") + filterOf(v).suffix()
	}
	return out
}

// assign takes or releases a hold. It needs no use of the passkey: an assignment decides nothing.
func (c *Pages) assign(v *shell.Visit) error {
	id := v.Param("id")
	var err error
	if v.Form("release") != "" {
		_, err = c.Holds.Release(v.Context, v.Principal(), id)
	} else {
		_, err = c.Holds.Take(v.Context, v.Principal(), id, v.Form("previous"))
	}
	if p := problem.As(err); p != nil && p.Code != problem.NotFound && p.Code != problem.NotHeld {
		request.SetProblemCode(v.Ctx, p.Code)
		return c.showReview(v, problem.Of(p.Code).Status, refusedAssignment(p), "")
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.At("reviews", id)+filterOf(v).suffix(), fiber.StatusSeeOther)
}

func refusedAssignment(p *problem.Error) *show.Notice {
	if p.Code == problem.Conflict {
		return &show.Notice{Tone: "warn", Text: "A colleague was assigned this hold in the meantime. Nothing was changed."}
	}
	return &show.Notice{Tone: "warn", Text: "The hold is settled. Nothing was changed."}
}

// view records that the user has the hold open, and adds the names of the others who have.
func (c *Pages) view(v *shell.Visit, view *reviewView) error {
	id := view.Case.Trace.ID
	at, err := c.Holds.View(v.Context, v.Principal(), id, v.Get(shell.RefreshHeader) != "")
	if err != nil {
		return err
	}
	view.Leave = v.At("reviews", id, "leave") + "?seen=" + strconv.FormatInt(at.UnixMicro(), 10)
	others, err := c.Holds.Viewers(v.Context, v.Principal(), id)
	if err != nil {
		return err
	}
	names, err := c.Reader.Names(v.Context, v.Principal().TenantID, others[id])
	for _, other := range others[id] {
		view.Viewers = append(view.Viewers, show.ActorOf(other, names).Name)
	}
	return err
}

// leave records that the user has closed the page of a hold, as it was read at a time.
func (c *Pages) leave(v *shell.Visit) error {
	seen, err := strconv.ParseInt(v.Query("seen"), 10, 64)
	if err != nil {
		return problem.New(problem.BadRequest, "seen must be the time of the page in microseconds.")
	}
	if err := c.Holds.Leave(v.Context, v.Principal(), v.Param("id"), time.UnixMicro(seen)); err != nil {
		return err
	}
	return v.SendStatus(fiber.StatusNoContent)
}
