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
)

// sent is what the script sends.
type sent struct {
	Ticket    string          `json:"ticket"`
	Method    string          `json:"method"`
	Assertion json.RawMessage `json:"assertion"`
}

// asked reads the request of the script and looks its ticket up.
func (p *pages) asked(c *fiber.Ctx) (sent, challenge.Visit, error) {
	in, err := web.Bind[sent](c, maxBody)
	if err != nil {
		return in, challenge.Visit{}, err
	}
	v, err := p.visit(c, in.Ticket)
	return in, v, err
}

// standing is the answer to every request of the script: where the challenge stands, and why it moved no further. It is 200
// also for a refusal, because a refusal is an ordinary part of the conversation; other statuses are faults.
type standing struct {
	State     string `json:"state"`
	Now       string `json:"now,omitempty"`
	ExpiresAt string `json:"expires_at,omitempty"`
	Refusal   string `json:"refusal,omitempty"` // a problem's code
	Message   string `json:"message,omitempty"` // the same in the person's words
	Options   any    `json:"publicKey,omitempty"`
}

func (p *pages) standing(c *fiber.Ctx) error {
	in, v, err := p.asked(c)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	return p.stands(c, v, standing{})
}

func (p *pages) options(c *fiber.Ctx) error {
	in, v, err := p.asked(c)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	options, err := p.Challenges.Options(request.Context(c), v.Scope(), v.ID)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	return p.stands(c, v, standing{Options: options})
}

func (p *pages) complete(c *fiber.Ctx) error {
	in, v, err := p.asked(c)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	receipt, err := p.Moves.Complete(request.Context(c), principal(c, v), v.ID, in.Method, in.Assertion)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	return p.router.JSON(c, http.StatusOK, standing{State: receipt.Status})
}

func (p *pages) cancel(c *fiber.Ctx) error {
	in, v, err := p.asked(c)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	status, err := p.Moves.Cancel(request.Context(c), principal(c, v), v.ID)
	if err != nil {
		return p.refuse(c, in, v, err)
	}
	return p.router.JSON(c, http.StatusOK, standing{State: string(status)})
}

// stands answers where the challenge stands.
func (p *pages) stands(c *fiber.Ctx, v challenge.Visit, s standing) error {
	s.State, s.Now, s.ExpiresAt = state(v), apitime.Time(p.Clock.Now()), apitime.Time(v.ExpiresAt)
	return p.router.JSON(c, http.StatusOK, s)
}

// refuse answers a refusal with where the challenge stands after it; what is no refusal stays an error.
func (p *pages) refuse(c *fiber.Ctx, in sent, before challenge.Visit, err error) error {
	refused := request.ProblemOf(err)
	switch {
	case before.ID == "" && refused.Code == problem.NotFound:
		return p.router.JSON(c, http.StatusOK, standing{State: stateGone})
	case before.ID == "", !ofThePerson(refused.Code):
		return err
	}
	request.SetProblemCode(c, refused.Code)
	now, err := p.visit(c, in.Ticket)
	if err != nil {
		return p.refuse(c, in, challenge.Visit{}, err)
	}
	shown, err := p.view(now)
	if err != nil {
		return err
	}
	return p.stands(c, now, standing{
		Refusal: string(refused.Code), Message: refusalText(refused.Code, shown.Display.RequestingApplication),
	})
}

// ofThePerson tells what the person can do something about from a fault of the page or of the service.
func ofThePerson(code problem.Code) bool {
	switch problem.Of(code).Status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusGone, http.StatusForbidden, http.StatusUnprocessableEntity:
		return code != problem.BadRequest
	default:
		return false
	}
}
