// Package middleware has the chain that every request of the API passes, in the order of the files that chain.go names: the request's id,
// deadline, log line and measurement, load shedding, authentication and quotas, the contract's rules, idempotency, and at last the
// handler of the route.
//
// A step ends the request by returning an error; WriteProblem turns it into a response. The package may not know the resources: what a
// request asks for is for the handlers of package api.
package middleware
