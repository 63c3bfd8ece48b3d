// Package request gives a request one meaning, or refuses it: method, host, path, headers, query and body as the routes and their mappings
// read them, and as the upstream receives them. It decides nothing and knows no routes.
package request

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
)

// Raw is a request as a transport received it.
type Raw struct {
	Method, Target, Host, Scheme string // Target is path and query; Scheme is http or https
	Header                       http.Header
	IP                           netip.Addr // of the client
	// Rewritten reports that the gate itself builds the request that is forwarded. Otherwise a proxy forwards what it received, and a path
	// that has a different canonical spelling is refused.
	Rewritten bool
	// Removes reports that headers of the client can be removed from what is forwarded.
	Removes bool
	// Secret reports that the proxy sends its secret.
	Secret bool
}

// Request is a request with one meaning.
type Request struct {
	Method, Host, Scheme string
	Path                 Path
	RawQuery             string // without ?
	Header               http.Header
	IP                   netip.Addr
	Body                 Body
}

// StateHeader carries the state of an earlier response. ProofHeader carries the proof to the upstream, and SecretHeader the shared secret of
// a proxy to the gate.
const (
	StateHeader  = "Countersign-State"
	ProofHeader  = "Countersign-Proof"
	SecretHeader = "Countersign-Proxy-Secret"
)

// maxTarget is the longest request target in bytes.
const maxTarget = 8 << 10

var methodForm = regexp.MustCompile(`^[A-Z]{1,20}$`)

// Parse returns the request, or a *Refusal.
func Parse(raw Raw) (*Request, error) {
	host, err := parseHost(raw.Host)
	if err != nil {
		return nil, err
	}
	method := raw.Method
	if err := refuse(!methodForm.MatchString(method) || method == http.MethodConnect || method == http.MethodTrace, RuleMethod,
		"The method must be in capital letters, and not CONNECT or TRACE."); err != nil {
		return nil, err
	}
	target := raw.Target
	if !strings.HasPrefix(target, "/") {
		return nil, &Refusal{RuleAbsolute, "The request target must be a path, not a URL."}
	}
	if len(target) > maxTarget {
		return nil, &Refusal{RuleCharacters, "The request target is longer than 8192 bytes."}
	}
	text, query, _ := strings.Cut(target, "?")
	path, err := parsePath(text, raw.Rewritten)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(raw); err != nil {
		return nil, err
	}
	if err := checkQuery(query); err != nil {
		return nil, err
	}
	return &Request{Method: method, Host: host, Scheme: raw.Scheme, Path: path, RawQuery: query, Header: raw.Header, IP: raw.IP}, nil
}

var hostForm = regexp.MustCompile(`^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])$`)

// parseHost returns the name of the host in lower case, without port and final dot.
func parseHost(text string) (string, error) {
	host := strings.ToLower(text)
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		port := host[i+1:]
		if strings.Trim(port, "0123456789") != "" || port == "" {
			return "", &Refusal{RuleHost, "The port of the Host header must be a number."}
		}
		host = host[:i]
	}
	host = strings.TrimSuffix(host, ".")
	if len(host) > 253 || !hostForm.MatchString(host) {
		return "", &Refusal{RuleHost, "The Host header must be the name of a host."}
	}
	return host, nil
}

// Target is the path and query that the upstream receives.
func (r *Request) Target() string {
	if r.RawQuery == "" {
		return r.Path.Canonical
	}
	return r.Path.Canonical + "?" + r.RawQuery
}
