// Package audit makes the event log tamper-evident: a hash chain per environment over every entry, a sealer that extends
// it, a walk that finds what was altered, removed, inserted or reordered, a head signed by the environment's key, and
// the two ways a compliance team reads it (JSON Lines, and the trail of one authorization).
//
// The package may not write events and may not change or remove a link. A link covers the salted digest of an event's
// personal part and not that part itself, so that erasing a subject leaves the chain whole.
package audit
