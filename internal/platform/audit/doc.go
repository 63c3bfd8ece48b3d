// Package audit makes the event log tamper-evident. A hash chain per environment covers every entry: Sealer extends it, Verifier
// finds entries that were altered, removed, inserted or reordered, and the environment's signing key signs its head. Verifier
// also compares the stored decisions, subjects and templates with the log. An auditor reads the log as JSON Lines (Export) or as
// the trail of one authorization (TrailOf).
//
// The package may not change or remove a link, and appends no event but the re-anchoring after a restore. A link covers the
// salted digest of an event's personal part and not the part itself, so the chain stays valid when a subject is erased.
package audit
