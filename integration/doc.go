// Package integration holds black-box tests: they speak to the API over a real TCP port, with the same wiring that
// production has, on a real Postgres and a real Temporal server. Every answer is held against the published contract.
// Tests share one running service and keep apart by having a tenant each; they look into the database only where a
// fault has to be made.
package integration
