// Package delivery groups the packages that deliver data to relying parties and staff: webhooks (webhook), the aggregated
// queries of the console (consolequery), exports of its lists (listexport), and the configuration of an environment as a file (configfile).
//
// It may import authz, account, platform and models. It may not import subject, lab or local; authz and subject may
// not import it.
package delivery
