package mcp

import (
	"context"
	"encoding/json"
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

// survey lists the tools of a server, in whichever revision it speaks.
func (s *Server) survey(ctx context.Context) (map[string]*Definition, error) {
	c := &Client{Who: &principal.Principal{Subject: "operator", Source: "process"}, Agent: "countersign-gate"}
	meta := map[string]json.RawMessage{metaVersion: json.RawMessage(`"` + modernVersion + `"`), metaCapabilities: json.RawMessage("{}"),
		metaClient: json.RawMessage(`{"name":"countersign-gate","version":"1"}`)}
	modern := &incoming{Server: s, client: c, meta: meta, version: modernVersion, m: &rpc.Message{}}
	discover := &rpc.Message{ID: json.RawMessage(`"countersign-discover"`), Method: "server/discover", Params: rpc.Object(map[string]json.RawMessage{"_meta": rpc.Object(meta)})}
	got := &collector{}
	if err := s.upstream.Request(ctx, c, Outgoing{discover, modernVersion, nil}, got); err == nil && got.response != nil && slices.Contains(supported(got.response.Result), modernVersion) {
		return modern.everything(ctx)
	}
	initialize := &rpc.Message{ID: json.RawMessage(`"countersign-initialize"`), Method: "initialize",
		Params: json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"countersign-gate","version":"1"}}`)}
	begun := &beginner{}
	if err := s.upstream.Request(ctx, c, Outgoing{Message: initialize}, begun); err != nil {
		return nil, err
	}
	if begun.response == nil || begun.response.Error != nil {
		return nil, fmt.Errorf("it does not begin a session")
	}
	c.Session, c.Version = begun.session, rpc.String(rpc.Members(begun.response.Result)["protocolVersion"])
	if err := s.upstream.Send(ctx, c, Outgoing{Message: &rpc.Message{Method: "notifications/initialized"}, Version: c.Version}); err != nil {
		return nil, err
	}
	legacy := &incoming{Server: s, client: c, version: c.Version, m: &rpc.Message{}}
	defer func() { _ = s.upstream.End(context.WithoutCancel(ctx), c) }() // a server may not know the end of sessions
	return legacy.everything(ctx)
}

// beginner keeps the response to initialize, and the session that it begins.
type beginner struct {
	collector
	session string
}

// Begin keeps the session.
func (b *beginner) Begin(h Head) { b.session = h.Session }
