// Package rollout moves workflow runs between builds of the worker with Temporal's Worker Versioning, for the commands of an
// operator. It changes routing only: it never ends a workflow run, and the code that serves requests does not import it.
package rollout
