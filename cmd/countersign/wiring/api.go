package wiring

import (
	"context"
	"sync"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api"
)

// newAPI builds the HTTP face. Its requests end when base does.
func (p *Process) newAPI(base context.Context) (*fiber.App, error) {
	return api.New(base, api.Config{BaseURL: p.BaseURL, MaxFrameBytes: p.options.MaxFrameBytes}, api.Deps{
		Log: p.Log, Clock: p.Clock, Store: p.Store, Keys: p.Keys, Identity: p.Identity, Limiter: p.services.limiter,
		Metrics: api.NewMetrics(p.Ops.Registry),
	})
}

// startLoops runs what the API does in the background until base ends; the returned function waits for that.
func (p *Process) startLoops(base context.Context) (wait func()) {
	var running sync.WaitGroup
	running.Go(func() { p.services.hub.Run(base) })
	return running.Wait
}
