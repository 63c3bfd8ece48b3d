// Package transport is the room of what the API and the web pages share as HTTP servers: the request's id, deadline, trace
// name, body and form (request), where requests begin and end (framing), event streams over HTTP (sse), the pace of long responses
// (pacing), and the closing of connections (linger).
//
// It may import account, platform and Fiber. It may not import authz, subject, delivery, behavior, lab or local: a
// use case has its home in a service, and neither api nor web imports the other for it. No other room may import transport.
package transport
