// Package local is the room of what runs the whole service on one machine: a Postgres (localpg), the development server
// with Temporal (dev), child processes that end with their parent (subprocess), the demonstration (demo) and the estimate
// of what a load needs (capacity).
//
// It may import behavior, lab and platform, and sdk/go. Nothing on the path of a request may
// import it.
package local
