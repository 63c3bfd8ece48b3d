package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// defaultReplay is the contract's default of PolicySimulationRequest.last.
const defaultReplay = 1000

// defaultListed is the contract's default of PolicySimulationRequest.list.
const defaultListed = 100

// simulationHandlers handles policy simulations.
type simulationHandlers struct {
	Actions        *action.Service
	Authorizations *authorization.Service
}

// run re-evaluates stored decisions under a policy version. It changes nothing.
func (h *simulationHandlers) run(c *fiber.Ctx) error {
	in, err := bind[struct {
		Last  int        `json:"last"`
		List  *int       `json:"list"`
		Since *time.Time `json:"since"`
		Until *time.Time `json:"until"`
	}](c)
	if err != nil {
		return err
	}
	if in.Last == 0 {
		in.Last = defaultReplay
	}
	p := request.Principal(c)
	v, err := h.Actions.Version(request.Context(c), p.Store(), c.Params("action_id"), version(c))
	if err != nil {
		return err
	}
	window := authorization.Window{Last: in.Last, Since: in.Since, Until: in.Until, List: defaultListed}
	if in.List != nil {
		window.List = *in.List
	}
	simulation, err := h.Authorizations.Simulate(request.Context(c), p.Store(), v, policy.EnvironmentKind(p.Kind), window)
	return reply(c, fiber.StatusOK, simulation, err)
}
