package webhook

import "net/http"

// Client returns an HTTP client that connects to permitted addresses only and uses no proxy, as a Sender does. It is for other
// requests to URLs that are configured for a tenant.
func (p Policy) Client() *http.Client { return NewSender(p).client }

// CheckURL returns a sentence that says why the sender would refuse the URL; empty if it would not (Policy.CheckURL).
func (s *Sender) CheckURL(raw string) string { return s.policy.CheckURL(raw) }
