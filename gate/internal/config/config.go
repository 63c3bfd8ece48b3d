// Package config reads the configuration of the gate: one YAML file, checked against a JSON Schema and against itself, with the line of
// every fault. What it returns can be served.
package config

import (
	"net/netip"
	"net/url"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/mapping"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/route"
	"github.com/countersign-dev/countersign/gate/internal/state"
	"github.com/countersign-dev/countersign/sdk/go/protect"
)

// Common is the part of a configuration that reaches the service and recognises who asks.
type Common struct {
	ServiceURL, ServiceKey string
	Timeout                time.Duration // of all calls of the service for one request
	State                  state.Keys
	StateTTL               time.Duration
	JWT                    *principal.JWT // nil unless the subject comes from one
	Traces                 Traces
}

// Config is a checked configuration of the HTTP gate.
type Config struct {
	Common
	Header         *principal.Header // nil unless the subject comes from one
	Listen         Listen
	TrustedProxies []netip.Prefix
	Limits         Limits
	Routes         []*Route
	Table          *route.Table // its indexes are those of Routes
}

// Listen has the listeners; nil for those that are not served.
type Listen struct {
	Inline, ForwardAuth, ExtAuthz *Listener
	Operations                    string // address; empty for none
}

// Listener is an address with its TLS files.
type Listener struct {
	Address string `yaml:"address"`
	TLS     *TLS   `yaml:"tls"`
}

// TLS names the files of a listener. With ClientCA, clients must have a certificate of that authority.
type TLS struct {
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
	ClientCA    string `yaml:"client_ca"`
}

// Limits bound what a request may cost.
type Limits struct {
	HeaderBytes, BodyBytes, Concurrent int
	UpstreamTimeout                    time.Duration
}

// Traces configure their export; the zero value is off.
type Traces struct {
	Endpoint string
	Ratio    float64
}

// Route is one route.
type Route struct {
	Name               string
	Line               int
	Place              route.Place
	Upstream           *url.URL // nil unless the gate is inline
	Shadow             bool
	Action, Audience   string
	ResourceType       string
	Mapping            *mapping.Mapping // nil of an open route
	ConsumedByUpstream bool
	Login              *protect.LoginRequired // nil unless a login can replace a challenge
}

// Shadows are the names of the routes that let everything through.
func (c *Config) Shadows() []string {
	var names []string
	for _, r := range c.Routes {
		if r.Shadow {
			names = append(names, r.Name)
		}
	}
	return names
}
