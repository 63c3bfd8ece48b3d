package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/mcp"
)

const (
	mcpHeaderBytes = 64 << 10
	mcpRequests    = 10_000 // at once: streams are open for long
)

// MCP is the gateway of a file, which its listeners or a client over stdio use.
type MCP struct {
	*Server
	config  *config.MCP
	gateway *mcp.Gateway
}

// NewMCP loads the file of an MCP gateway.
func NewMCP(ctx context.Context, file, version string, log *slog.Logger) (*MCP, error) {
	c, err := config.LoadMCP(file)
	if err != nil {
		return nil, err
	}
	s := &Server{file: file, log: log, stats: newStats(version), slots: make(chan struct{}, mcpRequests), failed: make(chan error, 4)}
	stopTraces, err := s.stats.trace(ctx, c.Traces, version)
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func(context.Context) { stopTraces() })
	m := &MCP{Server: s, config: c}
	m.gateway, err = mcp.New(c, s.stats.instrument(transport()), m.reports(), log)
	return m, err
}

// reports count and log what becomes of calls.
func (m *MCP) reports() mcp.Reports {
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "countersign_gate_mcp_calls_total", Help: "Calls of tools by outcome."}, []string{"server", "tool", "outcome", "code"})
	unaccepted := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "countersign_gate_mcp_unaccepted_tools_total", Help: "Definitions of tools that no operator has accepted."}, []string{"server", "difference"})
	m.stats.registry.MustRegister(calls, unaccepted)
	return mcp.Reports{
		Call: func(server, tool string, v decide.Verdict) {
			if v.Code == "unaccepted_tool" {
				tool = "" // the client chose it
			}
			calls.WithLabelValues(server, tool, string(v.Outcome), v.Code).Inc()
			m.logged([]slog.Attr{slog.String("mode", "mcp"), slog.String("server", server), slog.String("tool", tool)}, v)
		},
		Unaccepted: func(server, _, difference string) { unaccepted.WithLabelValues(server, difference).Inc() },
	}
}

// Listen serves Streamable HTTP until Stop.
func (m *MCP) Listen(ctx context.Context) error {
	if m.config.HTTP == nil {
		return errors.New("the file has no listen: name a server to serve it over stdio")
	}
	upstream := transport()
	upstream.ResponseHeaderTimeout = m.config.UpstreamTimeout
	handler, stop := m.gateway.Handler(upstream)
	m.stops = append(m.stops, func(context.Context) { stop() })
	if err := m.serve(ctx, m.config.HTTP, m.limited(m.stats.traced("mcp", handler)), mcpHeaderBytes); err != nil {
		return err
	}
	if m.config.Operations == "" {
		return nil
	}
	health := func(ctx context.Context) (map[string]any, error) {
		return map[string]any{"servers": len(m.config.Servers)}, m.gateway.Ready(ctx)
	}
	return m.serve(ctx, &config.Listener{Address: m.config.Operations}, m.operations(health), mcpHeaderBytes)
}

// Stdio serves one server to the client at the other end of the streams.
func (m *MCP) Stdio(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	conf, err := m.named(name)
	if err != nil {
		return err
	}
	upstream := transport()
	upstream.ResponseHeaderTimeout = m.config.UpstreamTimeout
	return m.gateway.ServeStdio(ctx, conf, in, out, upstream)
}

// Accept writes the definitions of the tools of a server, or of all, to the lock file, and prints what has changed.
func (m *MCP) Accept(ctx context.Context, name string, dry bool, out io.Writer) error {
	lock, err := mcp.ReadLock(m.config.LockFile)
	if err != nil {
		return err
	}
	servers := m.config.Servers
	if name != "" {
		conf, err := m.named(name)
		if err != nil {
			return err
		}
		servers = []*config.MCPServer{conf}
	}
	changed := false
	for _, conf := range servers {
		within, cancel := context.WithTimeout(ctx, m.config.UpstreamTimeout)
		differs, err := m.gateway.Accept(within, conf, lock, transport(), out)
		cancel()
		if err != nil {
			return err
		}
		changed = changed || differs
	}
	switch {
	case !changed:
		_, _ = fmt.Fprintln(out, "every tool is accepted as it is")
		return nil
	case dry:
		return errors.New("tools differ from the accepted ones")
	}
	_, _ = fmt.Fprintln(out, "accepted in", m.config.LockFile)
	return lock.Write(m.config.LockFile)
}

func (m *MCP) named(name string) (*config.MCPServer, error) {
	for _, conf := range m.config.Servers {
		if conf.Name == name {
			return conf, nil
		}
	}
	return nil, fmt.Errorf("the file has no server %q", name)
}
