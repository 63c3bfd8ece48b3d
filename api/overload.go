package api

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// How many requests are worked on at once, of one tenant and of all, and how many more may wait for how long. A process has some 16
// database connections: what is worked on beyond a few times that only waits for one, and would time out at random once Postgres
// is slow. What waits for a workflow, a receiver or an export's place holds no connection and is counted apart, so that a slow
// Temporal does not keep decisions out. Half of the places is out of the reach of any one tenant: more would not only leave fewer to
// the others, but have them wait longer for a connection too. Credentials that this process does not know yet are looked up before,
// within a bound of their own (internal/account/identity): until then it is not known whose request it is.
const (
	worksAtOnce = 64
	worksEach   = 32
	worksQueue  = 256
	awaitAtOnce = 256
	awaitEach   = 128
	awaitQueue  = 1024
	queueWait   = 2 * time.Second
)

// awaits are the operations that wait for a workflow, a receiver or a place among the exports.
var awaits = map[string]bool{
	"completeChallenge": true, "cancelChallenge": true, "reviewAuthorization": true, "completeEnrollment": true, "closeEvaluation": true,
	"testWebhookEndpoint": true, "exportSubject": true,
}

// gates bound what is under way in the process.
type gates struct {
	working  *admission.Gate
	awaiting *admission.Gate
}

func newGates() gates {
	return gates{working: admission.New(worksAtOnce, worksEach, worksQueue), awaiting: admission.New(awaitAtOnce, awaitEach, awaitQueue)}
}

// shedding puts the gate of its kind before a route's chain. What needs no credential (keys, documents) always passes.
func (s *server) shedding(r Route, next fiber.Handler) fiber.Handler {
	if r.Access == AccessOpen {
		return next
	}
	g := s.gates.working
	if awaits[r.Operation] {
		g = s.gates.awaiting
	}
	return func(c *fiber.Ctx) error {
		tenant, err := s.tenantOf(c)
		if err != nil {
			return err
		}
		if err := s.enter(requestContext(c), g, tenant); err != nil {
			return err
		}
		defer g.Leave(tenant)
		return next(c)
	}
}

func (s *server) enter(ctx context.Context, g *admission.Gate, tenant string) error {
	err := g.Enter(ctx, tenant, queueWait)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, admission.ErrShare):
		s.metrics.overShare.Inc()
	}
	s.metrics.shed.Inc()
	return problem.NewUnavailable("The service is busy. Nothing was done.", nil)
}

// tenantOf is whose share the request counts against. A credential that this process does not know yet is looked up first.
func (s *server) tenantOf(c *fiber.Ctx) (string, error) {
	key, err := bearer(c)
	if err != nil {
		return "", err
	}
	if tenant, known := s.identity.TenantOf(key); known {
		return tenant, nil
	}
	p, err := s.identity.Authenticate(requestContext(c), utils.CopyString(key))
	return p.TenantID, err
}
