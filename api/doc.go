// Package api serves the HTTP API: the route table (router.go) and a file of handlers for each resource. What every request passes
// before is in package middleware.
//
// Handlers translate between the contract's schemas and the services. They may not implement rules of the domain, and may
// access Postgres and Temporal only through the services. Values of a request are copied before they outlive the handler,
// because Fiber reuses its buffers.
package api
