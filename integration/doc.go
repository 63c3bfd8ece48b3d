// Package integration tests the service as a black box: over TCP, with the wiring of production, on a real Postgres and a real
// Temporal server. Every response is checked against the published contract.
//
// The tests share one running service and use a tenant each. They access the database directly only to cause a fault, to wait for
// a background change or to check what is stored.
package integration
