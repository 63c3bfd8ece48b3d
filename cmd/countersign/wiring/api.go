package wiring

import (
	"context"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api"
	"github.com/countersign-dev/countersign/api/metrics"
	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// sweepEvery is the interval at which unused reservations of quotas are returned.
const sweepEvery = 5 * time.Second

// newAPI builds the HTTP face. Its requests end when base does.
func (p *Process) newAPI(base context.Context) (*fiber.App, error) {
	v := p.services
	site, err := p.Pages()
	if err != nil {
		return nil, err
	}
	config := api.Config{
		Config:  middleware.Config{BaseURL: p.BaseURL, MaxFrameBytes: p.options.MaxFrameBytes, LocalOnly: p.options.LocalOnly},
		Version: p.options.Version, TrustedProxies: p.options.TrustedProxies,
	}
	return api.New(base, config, api.Deps{
		Deps: middleware.Deps{
			Log: p.Log, Clock: p.Clock, Store: p.Store, Keys: p.Keys, Identity: p.Identity, Limiter: v.limiter, Tally: v.tally,
			Metrics: metrics.New(p.Ops.Registry), Tracing: p.Tracing,
		},
		Pages: site.Mount,
		Services: api.Services{
			Actions: v.actions, Tenancy: p.Tenancy, Legacy: v.legacy, Sessions: v.sessions, Enrollments: v.enrollments, Templates: v.templates, Model: v.assessor.Model, Authorizations: v.authorizations, Challenges: v.challenges, Holds: v.holds, AfterReviews: v.afterReviews, Standing: v.standing, StandingLinks: v.standingLinks, Changes: v.changes, Teams: p.Teams, Directories: p.Directories, Lists: p.Lists, Evaluations: v.evaluations,
			Proofs: p.Signing, Subjects: v.subjects, Aliases: v.aliases, Signals: p.Signals, Passkeys: v.passkeys, Recoveries: v.recoveries, Endpoints: v.endpoints, Destinations: p.LogDestinations, Hub: v.hub,
			AuditSigner: p.Signing, Workflows: p.Flows, Ready: p.capabilities,
		},
	})
}

// capabilities are the states of what needs Temporal, for /meta.
func (p *Process) capabilities(ctx context.Context) map[string]string {
	state := "available"
	if p.Flows.Ping(ctx) != nil {
		state = "unavailable"
	}
	return map[string]string{"challenges": state, "reviews": state, "enrollment": state, "recovery": state, "evaluations": state, "webhooks": state}
}

// startLoops runs the API's background loops until base ends. The returned function waits for them, writes the tallies
// that are not recorded yet, and returns what was reserved of the quotas.
func (p *Process) startLoops(base context.Context) (wait func()) {
	streamGauge(p.Ops.Registry, p.services.hub.Count)
	var running sync.WaitGroup
	running.Go(func() { p.services.hub.Run(base) })
	running.Go(func() { p.followNotices(base) })
	running.Go(func() { p.services.activation.Follow(base) })
	running.Go(func() { p.sweepQuotas(base) })
	running.Go(func() { p.services.tally.Run(base) })
	running.Go(func() { p.sweepTries(base) })
	return func() {
		running.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(base), drainWithin)
		defer cancel()
		p.services.tally.Drain(ctx)
		if err := p.services.limiter.Drain(ctx); err != nil {
			p.Log.Warn("reserved quotas were not returned; they expire with their hour", "error", err)
		}
	}
}

// followNotices drops what is cached of a credential, a policy, an environment or signing keys as soon as another replica changed it. An
// empty channel means that notices may have been missed.
func (p *Process) followNotices(ctx context.Context) {
	channels := []string{pg.ChannelCredential, pg.ChannelPolicy, pg.ChannelEnvironment, pg.ChannelSigningKey}
	p.Store.Listen(ctx, channels, func(channel, payload string) {
		switch channel {
		case pg.ChannelCredential:
			p.Identity.Forget(payload)
		case pg.ChannelPolicy:
			p.services.actions.Forget(payload)
		case pg.ChannelEnvironment:
			p.services.authorizations.ForgetEnvironment(payload)
		case pg.ChannelSigningKey:
			p.Signing.Forget(payload)
		default:
			p.Identity.Forget("")
			p.services.actions.Forget("")
			p.services.authorizations.ForgetEnvironment("")
			p.Signing.Forget("")
		}
	})
}

func (p *Process) sweepQuotas(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := p.services.limiter.Sweep(ctx); err != nil && ctx.Err() == nil {
			p.Log.Warn("reserved quotas were not returned", "error", err)
		}
	}
}
