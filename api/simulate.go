package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// simulationHandlers handles policy simulations.
type simulationHandlers struct {
	Actions        *action.Service
	Authorizations *authorization.Service
}

// run re-evaluates stored decisions under a policy version. It changes nothing.
func (h *simulationHandlers) run(c *fiber.Ctx) error {
	in, err := bind[wire.PolicySimulationRequest](c)
	if err != nil {
		return err
	}
	p := request.Principal(c)
	v, err := h.Actions.Version(request.Context(c), p.Store(), c.Params("action_id"), version(c))
	if err != nil {
		return err
	}
	window := authorization.Window{Last: in.Last, Since: in.Since.Time(), Until: in.Until.Time(), List: in.List}
	simulation, err := h.Authorizations.Simulate(request.Context(c), p.Store(), v, policy.EnvironmentKind(p.Kind), window)
	return reply(c, fiber.StatusOK, simulation, err)
}
