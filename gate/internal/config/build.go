package config

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"

	"github.com/countersign-dev/countersign/gate/internal/mapping"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/route"
	"github.com/countersign-dev/countersign/gate/internal/state"
	"github.com/countersign-dev/countersign/sdk/go/protect"
)

// commonFile is the part that all files have.
type commonFile struct {
	Service struct {
		URL     string        `yaml:"url"`
		Key     secret        `yaml:"key"`
		Timeout time.Duration `yaml:"timeout"`
	} `yaml:"service"`
	State struct {
		Keys []secret      `yaml:"keys"`
		TTL  time.Duration `yaml:"ttl"`
	} `yaml:"state"`
	Traces struct {
		Endpoint string   `yaml:"endpoint"`
		Ratio    *float64 `yaml:"ratio"`
	} `yaml:"traces"`
}

type jwtFile struct {
	Issuer     string                   `yaml:"issuer"`
	Audience   string                   `yaml:"audience"`
	Algorithms []jwa.SignatureAlgorithm `yaml:"algorithms"`
	Type       string                   `yaml:"type"`
	JWKS       string                   `yaml:"jwks"`
	JWKSFile   string                   `yaml:"jwks_file"`
	Claim      string                   `yaml:"claim"`
	Cookie     string                   `yaml:"cookie"`
}

// file is the shape of a file of the HTTP gate that the schema accepts.
type file struct {
	commonFile `yaml:",inline"`
	Identity   struct {
		JWT    *jwtFile `yaml:"jwt"`
		Header *struct {
			Name         string   `yaml:"name"`
			From         []string `yaml:"from"`
			Secret       *secret  `yaml:"secret"`
			Certificates []string `yaml:"certificates"`
		} `yaml:"header"`
	} `yaml:"identity"`
	Listen struct {
		Inline      *Listener `yaml:"inline"`
		ForwardAuth *Listener `yaml:"forward_auth"`
		ExtAuthz    *Listener `yaml:"ext_authz"`
		Operations  string    `yaml:"operations"`
	} `yaml:"listen"`
	TrustedProxies []string `yaml:"trusted_proxies"`
	Limits         struct {
		HeaderBytes     int           `yaml:"header_bytes"`
		BodyBytes       int           `yaml:"body_bytes"`
		Concurrent      int           `yaml:"concurrent"`
		UpstreamTimeout time.Duration `yaml:"upstream_timeout"`
	} `yaml:"limits"`
	Routes []routeFile `yaml:"routes"`
}

type routeFile struct {
	Name     string   `yaml:"name"`
	Hosts    []string `yaml:"hosts"`
	Methods  []string `yaml:"methods"`
	Path     string   `yaml:"path"`
	Upstream string   `yaml:"upstream"`
	Open     bool     `yaml:"open"`
	Shadow   bool     `yaml:"shadow"`
	Action   string   `yaml:"action"`
	Audience string   `yaml:"audience"`
	Resource struct {
		Type string `yaml:"type"`
		ID   string `yaml:"id"`
	} `yaml:"resource"`
	Context map[string]string `yaml:"context"`
	Session string            `yaml:"session"`
	Consume string            `yaml:"consume"`
	Login   *struct {
		ACRValues []string      `yaml:"acr_values"`
		MaxAge    time.Duration `yaml:"max_age"`
	} `yaml:"login"`
}

// secret names where a value is.
type secret struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
}

func (d *document) build() *Config {
	var f file
	if err := d.root.Decode(&f); err != nil {
		d.fault(lineOf(err), "%v", err)
		return nil
	}
	c := &Config{
		Common: d.common(&f.commonFile), TrustedProxies: d.networks(f.TrustedProxies, "trusted_proxies"),
		Listen: Listen{Inline: f.Listen.Inline, ForwardAuth: f.Listen.ForwardAuth, ExtAuthz: f.Listen.ExtAuthz, Operations: f.Listen.Operations},
		Limits: Limits{HeaderBytes: cmp.Or(f.Limits.HeaderBytes, 32<<10), BodyBytes: cmp.Or(f.Limits.BodyBytes, 64<<10),
			Concurrent: cmp.Or(f.Limits.Concurrent, 1000), UpstreamTimeout: cmp.Or(f.Limits.UpstreamTimeout, time.Minute)},
	}
	d.identity(&f, c)
	for _, l := range []*Listener{c.Listen.Inline, c.Listen.ForwardAuth, c.Listen.ExtAuthz} {
		if l != nil && l.TLS != nil {
			l.TLS.Certificate, l.TLS.Key, l.TLS.ClientCA = d.path(l.TLS.Certificate), d.path(l.TLS.Key), d.path(l.TLS.ClientCA)
		}
	}
	places := make([]route.Place, 0, len(f.Routes))
	for i, r := range f.Routes {
		built := d.route(r, i, c)
		c.Routes = append(c.Routes, built)
		places = append(places, built.Place)
	}
	d.distinct(c.Routes)
	c.Table = route.NewTable(places)
	return c
}

func (d *document) common(f *commonFile) Common {
	c := Common{
		ServiceURL: f.Service.URL, ServiceKey: d.read(f.Service.Key, "service", "key"), Timeout: cmp.Or(f.Service.Timeout, 3*time.Second),
		State: d.stateKeys(f.State.Keys), StateTTL: cmp.Or(f.State.TTL, 73*time.Hour), Traces: Traces{Endpoint: f.Traces.Endpoint, Ratio: 1},
	}
	if f.Traces.Ratio != nil {
		c.Traces.Ratio = *f.Traces.Ratio
	}
	return c
}

// jwt returns how tokens are verified.
func (d *document) jwt(j *jwtFile) *principal.JWT {
	out := &principal.JWT{Issuer: j.Issuer, Audience: j.Audience, Type: j.Type, Algorithms: j.Algorithms, Claim: cmp.Or(j.Claim, "sub"), Cookie: j.Cookie}
	if j.JWKS != "" {
		out.Keys = principal.NewKeys(j.JWKS)
		return out
	}
	text, err := os.ReadFile(d.path(j.JWKSFile))
	if err == nil {
		out.Keys, err = principal.FixedKeys(text)
	}
	if err != nil {
		d.fault(d.line([]string{"identity", "jwt", "jwks_file"}), "identity.jwt.jwks_file: %v", err)
	}
	return out
}

func itoa(i int) string { return strconv.Itoa(i) }

func (d *document) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.folder, name)
}

// read returns the value of a secret.
func (d *document) read(s secret, at ...string) string {
	value, source := os.Getenv(s.Env), "the environment variable "+s.Env
	if s.File != "" {
		source = "the file " + s.File
		text, err := os.ReadFile(d.path(s.File))
		if err != nil {
			d.fault(d.line(at), "%s: %v", strings.Join(at, "."), err)
			return ""
		}
		value = strings.TrimSpace(string(text))
	}
	if value == "" {
		d.fault(d.line(at), "%s: %s has no value", strings.Join(at, "."), source)
	}
	return value
}

// stateKeys reads keys, whose text is used as it is.
func (d *document) stateKeys(list []secret) state.Keys {
	keys := make(state.Keys, 0, len(list))
	for i, s := range list {
		at := []string{"state", "keys", itoa(i)}
		key := []byte(d.read(s, at...))
		if len(key) > 0 && len(key) < state.KeySize {
			d.fault(d.line(at), "state.keys.%d must have at least %d bytes: openssl rand -base64 32 makes one", i, state.KeySize)
		}
		keys = append(keys, key)
	}
	return keys
}

func (d *document) networks(list []string, at ...string) []netip.Prefix {
	var out []netip.Prefix
	for i, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			d.fault(d.line(append(slices.Clone(at), itoa(i))), "%s.%d: %q is no network in CIDR form such as 10.0.0.0/8", strings.Join(at, "."), i, text)
			continue
		}
		out = append(out, p)
	}
	return out
}

func (d *document) identity(f *file, c *Config) {
	if f.Identity.JWT != nil {
		c.JWT = d.jwt(f.Identity.JWT)
	}
	if h := f.Identity.Header; h != nil {
		c.Header = &principal.Header{Name: h.Name, From: d.networks(h.From, "identity", "header", "from"), Certificates: h.Certificates}
		if h.Secret != nil {
			c.Header.Secret = []byte(d.read(*h.Secret, "identity", "header", "secret"))
		}
		for name, l := range map[string]*Listener{"inline": c.Listen.Inline, "forward_auth": c.Listen.ForwardAuth, "ext_authz": c.Listen.ExtAuthz} {
			if len(h.Certificates) > 0 && l != nil && (l.TLS == nil || l.TLS.ClientCA == "") {
				d.fault(d.line([]string{"listen", name}), "listen.%s.tls.client_ca is missing: identity.header.certificates needs the certificates of clients", name)
			}
		}
	}
}

var errNoIdentity = errors.New("a guarded route needs identity.jwt or identity.header")

// distinct refuses routes with one name, and routes of which neither precedes the other.
func (d *document) distinct(routes []*Route) {
	for i, r := range routes {
		for _, other := range routes[:i] {
			switch {
			case r.Name == other.Name:
				d.fault(r.Line, "the route %s is there twice: line %d has it too", r.Name, other.Line)
			case r.Place.Overlaps(other.Place) && (len(r.Place.Methods) == 0) == (len(other.Place.Methods) == 0):
				d.fault(r.Line, "the routes %s and %s (line %d) match the same requests", r.Name, other.Name, other.Line)
			}
		}
	}
}

func (d *document) route(f routeFile, i int, c *Config) *Route {
	at := []string{"routes", itoa(i)}
	r := &Route{Name: f.Name, Line: d.line(at), Shadow: f.Shadow, Action: f.Action, Audience: f.Audience, ResourceType: f.Resource.Type,
		ConsumedByUpstream: f.Consume == "upstream", Place: route.Place{Methods: f.Methods, Open: f.Open}}
	template, err := route.ParseTemplate(f.Path)
	if err != nil {
		d.fault(d.line(append(at, "path")), "%v", err)
	}
	r.Place.Path = template
	for j, host := range f.Hosts {
		if host != strings.ToLower(host) || strings.ContainsAny(host, ":/ *") && !strings.HasPrefix(host, "[") || strings.HasSuffix(host, ".") {
			d.fault(d.line(append(at, "hosts", itoa(j))), "%q must be the name of a host in lower case, without a port", host)
		}
		r.Place.Hosts = append(r.Place.Hosts, host)
	}
	if c.Listen.Inline != nil && f.Upstream == "" {
		d.fault(r.Line, "the route %s needs an upstream, because the gate is inline", f.Name)
	}
	if f.Upstream != "" {
		u, err := url.Parse(f.Upstream)
		if err != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.User != nil {
			d.fault(d.line(append(at, "upstream")), "upstream must be an http or https URL without a path, such as http://127.0.0.1:3000")
		}
		r.Upstream = u
	}
	if f.Open {
		return r
	}
	d.guarded(f, r, at, c)
	return r
}

// guarded completes a route that needs a decision.
func (d *document) guarded(f routeFile, r *Route, at []string, c *Config) {
	if c.JWT == nil && c.Header == nil {
		d.fault(r.Line, "the route %s: %v", f.Name, errNoIdentity)
	}
	m, err := mapping.Compile(mapping.Request, mapping.Expressions{ResourceID: f.Resource.ID, Session: f.Session, Context: f.Context})
	var fault *mapping.Error
	if errors.As(err, &fault) {
		d.fault(d.line(append(slices.Clone(at), strings.SplitN(fault.At, ".", 2)...)), "the route %s: %v", f.Name, err)
		return
	}
	r.Mapping = m
	for _, name := range m.Reads.Params {
		if !slices.Contains(r.Place.Path.Parameters(), name) {
			d.fault(r.Line, "the route %s reads request.params.%s, and its path has no {%s}", f.Name, name, name)
		}
	}
	if m.Reads.Body && c.Listen.ForwardAuth != nil {
		d.fault(r.Line, "the route %s reads the body, which proxies do not send to a forward-auth server: serve it inline or by ext_authz, with a file of its own", f.Name)
	}
	if m.Reads.Token && c.JWT == nil {
		d.fault(r.Line, "the route %s reads token, which needs identity.jwt", f.Name)
	}
	if f.Login == nil {
		return
	}
	r.Login = &protect.LoginRequired{ACRValues: f.Login.ACRValues, MaxAge: f.Login.MaxAge}
	if !m.Reads.Facts {
		d.fault(d.line(append(slices.Clone(at), "login")), "the route %s has login, and its mapping reads none of token.acr, token.auth_time and token.amr: a new login could not change the decision", f.Name)
	}
}
