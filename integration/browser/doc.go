// Package browser holds the tests that open the service's pages in a real Chromium, against the whole service on a real
// Postgres and a real Temporal server. There is nothing to import. Where no Chromium is found they are skipped and say so.
package browser
