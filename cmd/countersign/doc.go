// Command countersign runs the service: serve is the API, worker is the Temporal worker and the outbox relay, dev is both with a
// private Postgres and Temporal on one machine. The other commands administer an installation: migrate, tenant, credential,
// person, key and audit. The package parses flags and the environment, wires the parts together and prints. It must not contain
// a rule of the service.
//
// accuracy, background, demo and dev are in the same binary although production does not need them. An operator measures the
// scorer, learns a model and demonstrates decisions with the very build that serves, and a second binary could be of a different
// version. They add 1.0 MB to 49 MB (go build -trimpath -ldflags '-s -w', with and without their files; linux/amd64). The linter
// keeps their packages (internal/lab and internal/local) off the path of a request.
package main
