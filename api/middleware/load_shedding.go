package middleware

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/admission"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// The limits on concurrent requests: in all, of one tenant, and waiting in the queue.
//
// A process has about 16 database connections. Requests beyond a few times that number only wait for a connection and would
// time out at random when Postgres is slow. Requests that wait for something else (Route.Waits) occupy no connection and
// have a gate of their own, so that a slow Temporal does not keep decisions out. One tenant may take half of the slots: more
// would leave fewer to the others and make them wait longer for a connection. An unknown credential is looked up before its
// tenant is known, within the bounds of internal/account/identity.
const (
	maxWorking          = 64
	maxWorkingPerTenant = 32
	maxWorkingQueue     = 256
	maxWaiting          = 256
	maxWaitingPerTenant = 128
	maxWaitingQueue     = 1024
	maxQueueTime        = 2 * time.Second
)

// gates limit the concurrent requests of the process.
type gates struct {
	working *admission.Gate
	waiting *admission.Gate // for routes with Waits
}

func newGates() gates {
	return gates{
		working: admission.New(maxWorking, maxWorkingPerTenant, maxWorkingQueue),
		waiting: admission.New(maxWaiting, maxWaitingPerTenant, maxWaitingQueue),
	}
}

// shedding puts a gate in front of the rest of the chain. Routes that need no credential (keys, documents) always pass.
func (m *Chain) shedding(r Route, next func(c *fiber.Ctx, key identity.Key) error) fiber.Handler {
	if r.Access == AccessOpen {
		return func(c *fiber.Ctx) error { return next(c, identity.Key{}) }
	}
	g := m.gates.working
	if r.Waits {
		g = m.gates.waiting
	}
	return func(c *fiber.Ctx) error {
		text, err := bearer(c)
		if err != nil {
			return err
		}
		key := m.deps.Identity.Read(text)
		tenant, err := m.tenantOf(c, key)
		if err != nil {
			return err
		}
		if err := m.enter(request.Context(c), g, tenant); err != nil {
			return err
		}
		defer g.Leave(tenant)
		return next(c, key)
	}
}

// EnterOutside takes a slot for a request outside of the contract, such as one of a company's directory; leave returns it. Those of all tenants with
// the same name share the part of one tenant.
func (m *Chain) EnterOutside(ctx context.Context, share string) (leave func(), err error) {
	return func() { m.gates.working.Leave(share) }, m.enter(ctx, m.gates.working, share)
}

func (m *Chain) enter(ctx context.Context, g *admission.Gate, tenant string) error {
	err := g.Enter(ctx, tenant, maxQueueTime)
	if err == nil {
		return nil
	}
	m.deps.Metrics.Shed(errors.Is(err, admission.ErrShare))
	return problem.NewUnavailable("The service is overloaded. Nothing was changed; retry after the Retry-After header.", nil)
}

// tenantOf returns the tenant whose share the request counts against. It authenticates a credential that is not cached.
func (m *Chain) tenantOf(c *fiber.Ctx, key identity.Key) (string, error) {
	if tenant, known := m.deps.Identity.TenantOf(key); known {
		return tenant, nil
	}
	p, err := m.deps.Identity.Check(request.Context(c), key)
	return p.TenantID, err
}
