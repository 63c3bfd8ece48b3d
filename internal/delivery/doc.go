// Package delivery is the room of what leaves the service unasked or is read beside it: webhooks (webhook) and the
// aggregated reads of the console (consolequery).
//
// It may import authz, account, platform and models. It may not import subject, lab, bench or local; authz and subject may
// not import it.
package delivery
