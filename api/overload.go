package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/problem"
)

// How many requests are worked on at once, and how many more may wait for how long. A process has some 16 database
// connections: what is worked on beyond a few times that only waits for one, and would time out at random once Postgres
// is slow. What waits for a run or for somebody's receiver holds no connection and is counted apart, so that a slow
// Temporal does not keep decisions out.
const (
	worksAtOnce = 64
	awaitAtOnce = 256
	queueFactor = 4
	queueWait   = 500 * time.Millisecond
)

// awaits are the operations that wait for a run or a receiver.
var awaits = map[string]bool{
	"completeChallenge": true, "cancelChallenge": true, "reviewAuthorization": true, "completeEnrollment": true, "closeEvaluation": true,
	"testWebhookEndpoint": true,
}

// gate lets so many in at once.
type gate struct {
	inside  chan struct{}
	waiting chan struct{}
	shed    prometheus.Counter
}

func newGate(atOnce int, shed prometheus.Counter) *gate {
	return &gate{inside: make(chan struct{}, atOnce), waiting: make(chan struct{}, atOnce*queueFactor), shed: shed}
}

// enter takes a place, waiting for one where the queue is not full either. It reports false for who has to come again.
func (g *gate) enter(ctx context.Context) bool {
	select {
	case g.inside <- struct{}{}:
		return true
	default:
	}
	select {
	case g.waiting <- struct{}{}:
		defer func() { <-g.waiting }()
	default:
		return false
	}
	patience := time.NewTimer(queueWait)
	defer patience.Stop()
	select {
	case g.inside <- struct{}{}:
		return true
	case <-patience.C:
	case <-ctx.Done():
	}
	return false
}

func (g *gate) leave() { <-g.inside }

// shedding puts the gate of its kind before a route's chain. What needs no credential (keys, documents) always passes.
func (s *server) shedding(r Route, next fiber.Handler) fiber.Handler {
	if r.Access == AccessOpen {
		return next
	}
	g := s.working
	if awaits[r.Operation] {
		g = s.awaiting
	}
	return func(c *fiber.Ctx) error {
		if !g.enter(requestContext(c)) {
			g.shed.Inc()
			return problem.Away("The service is busy. Nothing was done.", nil)
		}
		defer g.leave()
		return next(c)
	}
}
