// Package browser tests the service's pages in Chromium, against the whole service on a real Postgres and a real Temporal
// server. It contains only tests. They are skipped if Chromium is not installed.
package browser
