// Package local is the room of what runs the whole service on one machine: a Postgres (localpg), the development server
// with Temporal (dev), child processes that end with their parent (subprocess) and the demonstration (demo).
//
// It may import behavior, lab and platform, and sdk/go. It may not import bench, and nothing on the path of a request may
// import it.
package local
