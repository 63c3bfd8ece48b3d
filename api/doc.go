// Package api is the HTTP face of the service: the route table (router.go), the chain every request passes
// (chain.go), and one file of handlers a resource. Handlers translate between the contract's shapes and the services;
// they hold no rule of the domain, speak to Postgres through services only and to Temporal through workflows.Client
// only. Values taken from a request are copied before they outlive the handler: Fiber reuses its buffers.
package api
