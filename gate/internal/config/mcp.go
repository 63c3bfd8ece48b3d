package config

import (
	"cmp"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/mapping"
)

// MCP is a checked configuration of the MCP gateway.
type MCP struct {
	Common
	AgentClaim      string
	Process         *Process // nil unless the gateway may serve stdio
	HTTP            *Listener
	URL             string // of the listener, without a slash at the end
	Origins         []string
	Operations      string
	MessageBytes    int
	Waiting         int // calls of one principal at once
	UpstreamTimeout time.Duration
	Servers         []*MCPServer
	LockFile        string // with the accepted definitions of tools
}

// Process is the person and the agent of a gateway over stdio.
type Process struct {
	Subject string `yaml:"subject"`
	Agent   string `yaml:"agent"`
}

// MCPServer is one server behind the gateway.
type MCPServer struct {
	Name         string
	Line         int
	Command, Env []string // of a program; Env has NAME=value
	URL          *url.URL // of a server over HTTP
	Bearer       string
	Exchange     *Exchange
	Passes       bool // calls of tools that the file does not name
	RepeatWithin time.Duration
	Tools        map[string]*Tool
}

// Exchange replaces the token of a client by one for the upstream (RFC 8693).
type Exchange struct {
	URL, ClientID, ClientSecret, Audience, Resource, Scope string
}

// Tool has the requirements of calls of a tool.
type Tool struct {
	Name                           string
	Pass                           bool
	Action, Audience, ResourceType string
	Mapping                        *mapping.Mapping
	Show                           []string
	Wait                           time.Duration
}

type mcpFile struct {
	commonFile `yaml:",inline"`
	Identity   struct {
		JWT        *jwtFile `yaml:"jwt"`
		AgentClaim string   `yaml:"agent_claim"`
		Process    *Process `yaml:"process"`
	} `yaml:"identity"`
	Listen *struct {
		HTTP       Listener `yaml:"http"`
		URL        string   `yaml:"url"`
		Origins    []string `yaml:"origins"`
		Operations string   `yaml:"operations"`
	} `yaml:"listen"`
	Limits struct {
		MessageBytes    int           `yaml:"message_bytes"`
		Waiting         int           `yaml:"waiting"`
		UpstreamTimeout time.Duration `yaml:"upstream_timeout"`
	} `yaml:"limits"`
	Servers []serverFile `yaml:"servers"`
}

type serverFile struct {
	Name     string `yaml:"name"`
	Upstream struct {
		Command  []string          `yaml:"command"`
		Env      map[string]secret `yaml:"env"`
		URL      string            `yaml:"url"`
		Bearer   *secret           `yaml:"bearer"`
		Exchange *struct {
			URL          string `yaml:"url"`
			ClientID     string `yaml:"client_id"`
			ClientSecret secret `yaml:"client_secret"`
			Audience     string `yaml:"audience"`
			Resource     string `yaml:"resource"`
			Scope        string `yaml:"scope"`
		} `yaml:"exchange"`
	} `yaml:"upstream"`
	Default      string        `yaml:"default"`
	RepeatWithin time.Duration `yaml:"repeat_within"`
	Tools        []toolFile    `yaml:"tools"`
}

type toolFile struct {
	Name     string `yaml:"name"`
	Pass     bool   `yaml:"pass"`
	Action   string `yaml:"action"`
	Audience string `yaml:"audience"`
	Resource struct {
		Type string `yaml:"type"`
		ID   string `yaml:"id"`
	} `yaml:"resource"`
	Context map[string]string `yaml:"context"`
	Session string            `yaml:"session"`
	Show    []string          `yaml:"show"`
	Wait    *time.Duration    `yaml:"wait"`
}

// LoadMCP reads and checks a file of the MCP gateway. An error is a *Faults, or says why the file cannot be read.
func LoadMCP(file string) (*MCP, error) { return load(file, mcpSchema, (*document).buildMCP) }

const defaultWait = 3 * time.Minute

func (d *document) buildMCP() *MCP {
	var f mcpFile
	if err := d.root.Decode(&f); err != nil {
		d.fault(lineOf(err), "%v", err)
		return nil
	}
	c := &MCP{Common: d.common(&f.commonFile), AgentClaim: cmp.Or(f.Identity.AgentClaim, "client_id"), Process: f.Identity.Process,
		MessageBytes: cmp.Or(f.Limits.MessageBytes, 4<<20), Waiting: cmp.Or(f.Limits.Waiting, 20), UpstreamTimeout: cmp.Or(f.Limits.UpstreamTimeout, time.Minute),
		LockFile: lockOf(d.file)}
	if f.Identity.JWT != nil {
		c.JWT = d.jwt(f.Identity.JWT)
	}
	if l := f.Listen; l != nil {
		c.HTTP, c.URL, c.Origins, c.Operations = &l.HTTP, l.URL, l.Origins, l.Operations
		if l.HTTP.TLS != nil {
			l.HTTP.TLS.Certificate, l.HTTP.TLS.Key, l.HTTP.TLS.ClientCA = d.path(l.HTTP.TLS.Certificate), d.path(l.HTTP.TLS.Key), d.path(l.HTTP.TLS.ClientCA)
		}
		if c.JWT == nil {
			d.fault(d.line([]string{"listen"}), "listen needs identity.jwt: over HTTP, the person is the subject of a token")
		}
	}
	for i, s := range f.Servers {
		built := d.server(s, i, c)
		for _, other := range c.Servers {
			if other.Name == s.Name {
				d.fault(built.Line, "the server %s is there twice: line %d has it too", s.Name, other.Line)
			}
		}
		c.Servers = append(c.Servers, built)
	}
	return c
}

// lockOf is the file beside a configuration that has the accepted definitions: mcp.yaml has mcp.lock.json.
func lockOf(file string) string {
	for _, end := range []string{".yaml", ".yml"} {
		if name, is := strings.CutSuffix(file, end); is {
			return name + ".lock.json"
		}
	}
	return file + ".lock.json"
}

// inherited are the variables that a program has in any case.
var inherited = []string{"PATH", "HOME", "LANG", "TMPDIR"}

func (d *document) server(f serverFile, i int, c *MCP) *MCPServer {
	at := []string{"servers", itoa(i)}
	s := &MCPServer{Name: f.Name, Line: d.line(at), Passes: f.Default == "pass", RepeatWithin: cmp.Or(f.RepeatWithin, 5*time.Minute), Tools: map[string]*Tool{}, Command: f.Upstream.Command}
	for _, name := range inherited {
		if value, has := os.LookupEnv(name); has {
			s.Env = append(s.Env, name+"="+value)
		}
	}
	for name, value := range f.Upstream.Env {
		s.Env = append(s.Env, name+"="+d.read(value, append(slices.Clone(at), "upstream", "env", name)...))
	}
	slices.Sort(s.Env)
	if f.Upstream.URL != "" {
		u, err := url.Parse(f.Upstream.URL)
		if err != nil || u.User != nil || u.Fragment != "" {
			d.fault(d.line(append(slices.Clone(at), "upstream", "url")), "upstream.url must be an http or https URL without a user")
		}
		s.URL = u
	}
	if f.Upstream.Bearer != nil {
		s.Bearer = d.read(*f.Upstream.Bearer, append(slices.Clone(at), "upstream", "bearer")...)
	}
	if e := f.Upstream.Exchange; e != nil {
		s.Exchange = &Exchange{e.URL, e.ClientID, d.read(e.ClientSecret, append(slices.Clone(at), "upstream", "exchange", "client_secret")...), e.Audience, e.Resource, e.Scope}
		if c.HTTP == nil || f.Upstream.Bearer != nil {
			d.fault(s.Line, "the server %s: upstream.exchange needs listen, because it exchanges the tokens of clients, and excludes bearer", f.Name)
		}
	}
	for j, tool := range f.Tools {
		built := d.tool(tool, append(slices.Clone(at), "tools", itoa(j)), c)
		if s.Tools[tool.Name] != nil {
			d.fault(d.line(append(slices.Clone(at), "tools", itoa(j))), "the tool %s is there twice", tool.Name)
		}
		s.Tools[tool.Name] = built
	}
	return s
}

func (d *document) tool(f toolFile, at []string, c *MCP) *Tool {
	t := &Tool{Name: f.Name, Pass: f.Pass, Action: f.Action, Audience: f.Audience, ResourceType: f.Resource.Type, Show: f.Show, Wait: defaultWait}
	if f.Wait != nil {
		t.Wait = *f.Wait
	}
	if f.Pass {
		return t
	}
	m, err := mapping.Compile(mapping.Call, mapping.Expressions{ResourceID: f.Resource.ID, Session: f.Session, Context: f.Context})
	var fault *mapping.Error
	if errors.As(err, &fault) {
		d.fault(d.line(append(slices.Clone(at), strings.SplitN(fault.At, ".", 2)...)), "the tool %s: %v", f.Name, err)
		return t
	}
	if m.Reads.Token && c.JWT == nil {
		d.fault(d.line(at), "the tool %s reads token, which needs identity.jwt", f.Name)
	}
	t.Mapping = m
	return t
}
