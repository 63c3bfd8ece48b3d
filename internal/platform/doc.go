// Package platform groups the packages that every other room builds on and that know no rule of the product: the database
// (pg), the event log and its audit chain (events, audit, outbox), keys (keyring, masterkey), data formats (canonical,
// strictjson, displaytext, apitime, ids), the codes of errors and reasons (problem, reason), and time, tracing and load
// (clock, tracing, cache, admission).
//
// It may import models and libraries. It may not import any other room.
package platform
