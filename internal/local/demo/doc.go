// Package demo demonstrates the service over its HTTP API. It enrolls people, authorizes each of them without evidence, as
// themselves, as another person and with a replayed frame, completes a challenge, reviews holds, and verifies and consumes a
// proof. It also leaves enough to look at on every page of the console: a brand, teams, webhook deliveries of which some fail, an
// evaluation, and a change that waits for a second approver.
//
// Session opens a single session of a simulated person instead, for the tests of an integration.
//
// It is a client like any relying party's backend and uses sdk/go for every request. It must not reach into the service: no
// store, no rule of a decision.
package demo
