package mcp

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// Accept compares the tools of a server with the accepted ones, prints the differences, and accepts them in the lock if it is not nil. Mappings
// that the server proposes are printed, for an operator to take over.
func (g *Gateway) Accept(ctx context.Context, conf *config.MCPServer, lock *Lock, transport http.RoundTripper, w io.Writer) (changed bool, err error) {
	s := g.server(conf, nil)
	upstream, err := g.connect(conf, transport, func(Event) {})
	if err != nil {
		return false, err
	}
	defer upstream.Close()
	s.upstream = upstream
	tools, err := s.survey(ctx)
	if err != nil {
		return false, fmt.Errorf("the server %s: %w", conf.Name, err)
	}
	differences := difference(lock.Servers[conf.Name], tools)
	for _, name := range slices.Sorted(maps.Keys(differences)) {
		_, _ = fmt.Fprintf(w, "%s: %s: %s\n", conf.Name, name, differences[name])
		if d := tools[name]; d != nil {
			_, _ = fmt.Fprintf(w, "  %s\n", d.Text)
			propose(w, d)
		}
	}
	if lock.Servers[conf.Name] = map[string]string{}; len(tools) == 0 {
		delete(lock.Servers, conf.Name)
	}
	for name, d := range tools {
		lock.Servers[conf.Name][name] = d.Digest
	}
	return len(differences) > 0, nil
}

// propose prints the mapping that a server proposes for a tool. It has no effect until an operator writes it into the file.
func propose(w io.Writer, d *Definition) {
	if mapping := rpc.Members(rpc.Members(d.Text)["inputSchema"])["x-authzen-mapping"]; mapping != nil {
		_, _ = fmt.Fprintf(w, "  the server proposes this mapping (x-authzen-mapping), which has no effect unless you write it into the file:\n  %s\n", mapping)
	}
}

// survey lists the tools of a server, whichever revision it speaks.
func (s *Server) survey(ctx context.Context) (map[string]*Definition, error) {
	c := &Client{Who: &principal.Principal{Subject: "operator", Source: "process"}, Agent: "countersign-gate"}
	r := &incoming{Server: s, client: c, meta: rpc.Members(ownMeta), version: modernVersion, m: &rpc.Message{}}
	return r.everything(ctx)
}
