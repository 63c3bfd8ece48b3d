package challenge

import (
	"encoding/json"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/hosted"
)

// scriptRequest is the body of every request of the script.
type scriptRequest struct {
	Ticket    string          `json:"ticket"`
	Method    string          `json:"method"`
	Assertion json.RawMessage `json:"assertion"`
}

// bind decodes the script's request and looks up its ticket.
func (p *pages) bind(c *fiber.Ctx) (scriptRequest, challenge.Visit, error) {
	in, err := web.Bind[scriptRequest](c, maxBody)
	if err != nil {
		return in, challenge.Visit{}, err
	}
	v, err := p.visit(c, in.Ticket)
	return in, v, err
}

// standing is the response to every request of the script: the state of the challenge and, after a refusal, its reason. A
// refusal that the user can act on has status 200; other statuses are faults.
type standing struct {
	State       string  `json:"state"`
	Now         string  `json:"now,omitempty"`
	ExpiresAt   string  `json:"expires_at,omitempty"`
	CompletedAt *string `json:"completed_at,omitempty"`
	Refusal     string  `json:"refusal,omitempty"` // code of the problem
	Message     string  `json:"message,omitempty"` // its text for the user
	Options     any     `json:"publicKey,omitempty"`
}

func (p *pages) standing(c *fiber.Ctx) error {
	in, v, err := p.bind(c)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	return p.sendStanding(c, v, standing{})
}

// bindOpened is bind for what only a browser that sees the request may do. It returns false after it sent the state of a closed link.
func (p *pages) bindOpened(c *fiber.Ctx) (scriptRequest, challenge.Visit, bool, error) {
	in, v, err := p.bind(c)
	if err != nil {
		return in, v, false, p.refuse(c, in, v, err)
	}
	if v.Closed {
		return in, v, false, p.sendStanding(c, v, standing{})
	}
	return in, v, true, nil
}

func (p *pages) options(c *fiber.Ctx) error {
	in, v, opened, err := p.bindOpened(c)
	if !opened {
		return err
	}
	options, err := p.Challenges.Options(request.Context(c), v.Scope(), v.ID, "")
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	return p.sendStanding(c, v, standing{Options: options.PublicKey})
}

func (p *pages) complete(c *fiber.Ctx) error {
	in, v, opened, err := p.bindOpened(c)
	if !opened {
		return err
	}
	receipt, err := p.Moves.Complete(request.Context(c), principal(c, v), v.ID, in.Method, in.Assertion)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	return p.router.JSON(c, http.StatusOK, standing{State: receipt.Status, CompletedAt: apitime.OptionalTime(receipt.CompletedAt)})
}

func (p *pages) cancel(c *fiber.Ctx) error {
	in, v, opened, err := p.bindOpened(c)
	if !opened {
		return err
	}
	status, err := p.Moves.Cancel(request.Context(c), principal(c, v), v.ID)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	return p.router.JSON(c, http.StatusOK, standing{State: string(status)})
}

func (p *pages) openingOptions(c *fiber.Ctx) error {
	in, v, err := p.bind(c)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	options, err := p.Challenges.OpeningOptions(request.Context(c), in.Ticket)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	return p.sendStanding(c, v, standing{Options: options})
}

// openLink opens a link for a client in this browser. The script then asks for the page again.
func (p *pages) openLink(c *fiber.Ctx) error {
	in, v, err := p.bind(c)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	secret, err := p.Challenges.OpenLink(request.Context(c), principal(c, v), in.Ticket, in.Method, in.Assertion)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	p.router.SetCookie(c, openedCookie(c), secret, v.ExpiresAt.Sub(p.Clock.Now()))
	return p.router.JSON(c, http.StatusOK, standing{State: stateOpen})
}

// sendStanding writes the state of the challenge.
func (p *pages) sendStanding(c *fiber.Ctx, v challenge.Visit, s standing) error {
	s.State, s.Now, s.ExpiresAt, s.CompletedAt = state(v), apitime.Time(p.Clock.Now()), apitime.Time(v.ExpiresAt), apitime.OptionalTime(v.CompletedAt)
	return p.router.JSON(c, http.StatusOK, s)
}

// refuse writes the state of the challenge after a refusal. It returns an error that the user cannot act on unchanged.
func (p *pages) refuse(c *fiber.Ctx, in scriptRequest, before challenge.Visit, err error) error {
	refused := request.ProblemOf(err)
	switch {
	case before.ID == "" && refused.Code == problem.NotFound:
		return p.router.JSON(c, http.StatusOK, standing{State: stateGone})
	case before.ID == "", !userCanAct(refused.Code):
		return err
	}
	request.SetProblemCode(c, refused.Code)
	now, err := p.visit(c, in.Ticket)
	if err != nil {
		return p.refuse(c, in, challenge.Visit{}, err)
	}
	shown, err := p.view(c, now)
	if err != nil {
		return err
	}
	message, err := shown.Frame.Text(hosted.RefusalKey(refused.Code), "by", shown.Frame.Customer)
	if err != nil {
		return err
	}
	return p.sendStanding(c, now, standing{Refusal: string(refused.Code), Message: message})
}

// userCanAct reports whether the user can do something about the problem, as opposed to a fault of the page or the service.
func userCanAct(code problem.Code) bool {
	switch problem.Of(code).Status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusGone, http.StatusForbidden, http.StatusUnprocessableEntity:
		return code != problem.BadRequest
	default:
		return false
	}
}
