package api

import (
	"context"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/platform/scim"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// Config configures the HTTP server.
type Config struct {
	middleware.Config
	Version        string         // version of the build, for /meta
	TrustedProxies []netip.Prefix // whose X-Forwarded-Host and X-Forwarded-For are believed; empty for none
}

// Pages registers the web pages (package web). It is called once, after the middleware of every request and before the API's routes; what
// it registers is not part of the contract.
type Pages func(app *fiber.App)

// Deps are the dependencies of the server.
type Deps struct {
	middleware.Deps
	Services Services
	Pages    Pages // nil for none
}

// writeTimeout limits how long a client may take to read a response. Streams and exports extend it while they make progress.
const writeTimeout = 60 * time.Second

// writeBuffer holds the whole response of a decision with its headers, so that it is sent by one system call.
const writeBuffer = 8 << 10

// New builds the application. Requests end when base does. It fails only if the embedded contract does not compile.
func New(base context.Context, config Config, d Deps) (*fiber.App, error) {
	chain, err := middleware.New(base, config.Config, d.Deps)
	if err != nil {
		return nil, err
	}
	app := fiber.New(fiber.Config{
		AppName:               "countersign",
		DisableStartupMessage: true,
		Immutable:             true, // strings of a request outlive its handler in workflows and logs
		StrictRouting:         true,
		CaseSensitive:         true,
		UnescapePath:          true,                                                          // after request.CheckTarget, so that a segment stays one
		BodyLimit:             max(chain.MaxFrameBytes(), scim.MaxBody) + middleware.MaxBody, // above the chain's own limits, whose problems say more
		ReadTimeout:           30 * time.Second,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           2 * time.Minute,
		ReadBufferSize:        request.MaxHeaderBytes,
		WriteBufferSize:       writeBuffer,
		ErrorHandler:          chain.WriteProblem,

		EnableTrustedProxyCheck: true,
		TrustedProxies:          texts(config.TrustedProxies),

		DisablePreParseMultipartForm: true, // package request reads forms
	})
	app.Server().KeepHijackedConns = true // package sse takes over the connections of streams
	directories := &directoryHandlers{base: base, directories: d.Services.Directories, chain: chain, log: d.Log}
	signals := &signalHandlers{signals: d.Services.Signals, chain: chain, log: d.Log}
	outside := func(app *fiber.App) {
		directories.mount(app)
		signals.mount(app)
		if d.Pages != nil {
			d.Pages(app)
		}
	}
	chain.Mount(app, outside, newHandlers(config, d, chain).routes())
	return app, nil
}

func texts(networks []netip.Prefix) []string {
	out := make([]string, len(networks))
	for i, n := range networks {
		out[i] = n.String()
	}
	return out
}
