package webhook

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Client returns an HTTP client that connects to permitted addresses only and uses no proxy, as a Sender does. It is for other
// requests to URLs that are configured for a tenant.
func (p Policy) Client() *http.Client { return p.ClientTLS(nil) }

// ClientTLS is Client with certificates of its own; nil for those of the machine.
func (p Policy) ClientTLS(config *tls.Config) *http.Client {
	return newSender(p, &net.Resolver{PreferGo: true}, config).client
}

// Dialer returns a dialer that connects to permitted addresses only.
func (p Policy) Dialer() *net.Dialer { return p.dialer(&net.Resolver{PreferGo: true}) }

func (p Policy) dialer(resolver *net.Resolver) *net.Dialer {
	return &net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second, Resolver: resolver, Control: p.control}
}

// CheckURL returns a sentence that says why the sender would refuse the URL; empty if it would not (Policy.CheckURL).
func (s *Sender) CheckURL(raw string) string { return s.policy.CheckURL(raw) }
