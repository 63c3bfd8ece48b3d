// Package delivery groups the packages that deliver data to relying parties and staff: webhooks (webhook), the aggregated
// queries of the console (consolequery) and exports of its lists (listexport).
//
// It may import authz, account, platform and models. It may not import subject, lab or local; authz and subject may
// not import it.
package delivery
