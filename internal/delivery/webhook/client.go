package webhook

import "net/http"

// Client returns an HTTP client that connects to permitted addresses only and uses no proxy, as a Sender does. It is for other
// requests to URLs that are configured for a tenant.
func (p Policy) Client() *http.Client { return NewSender(p).client }
