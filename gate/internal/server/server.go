// Package server runs the gate: its listeners, the reload of the configuration without a dropped request, health, metrics, logs and traces.
// Logs and metrics have names of routes, outcomes, codes and ids of authorizations, and nothing about people.
package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/extauthz"
	"github.com/countersign-dev/countersign/gate/internal/forwardauth"
	"github.com/countersign-dev/countersign/gate/internal/inline"
	"github.com/countersign-dev/countersign/gate/internal/principal"
)

// Times of connections.
const (
	readHeaderWithin = 10 * time.Second
	idleFor          = 2 * time.Minute
	drainWithin      = 20 * time.Second
)

// Server is a running gate.
type Server struct {
	file   string
	log    *slog.Logger
	stats  *stats
	slots  chan struct{} // one for each request at once
	engine atomic.Pointer[decide.Engine]
	stops  []func(context.Context)
	failed chan error
}

// Start loads the file and serves it until Stop. The error is that of the configuration or of an address.
func Start(ctx context.Context, file, version string, log *slog.Logger) (*Server, error) {
	c, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	s := &Server{file: file, log: log, stats: newStats(version), slots: make(chan struct{}, c.Limits.Concurrent), failed: make(chan error, 4)}
	stopTraces, err := s.stats.trace(ctx, c.Traces, version)
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func(context.Context) { stopTraces() })
	if err := s.use(c); err != nil {
		return nil, err
	}
	if err := s.listen(ctx, c); err != nil {
		s.Stop(ctx)
		return nil, err
	}
	return s, nil
}

// use replaces the engine: requests that have begun finish with the previous one.
func (s *Server) use(c *config.Config) error {
	engine, err := decide.New(c, s.stats.instrument(transport()))
	if err != nil {
		return err
	}
	s.engine.Store(engine)
	s.stats.loaded(c)
	for _, name := range c.Shadows() {
		s.log.Warn("this route lets every request through: shadow is true", "route", name)
	}
	return nil
}

func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 256
	t.Proxy = nil
	return t
}

// Reload reads the file again. If it has faults, the gate goes on with the previous configuration.
func (s *Server) Reload() error {
	c, err := config.Load(s.file)
	if err == nil && !reflect.DeepEqual(c.Listen, s.engine.Load().Config().Listen) {
		err = errors.New("listen has changed, which needs a restart")
	}
	if err == nil {
		err = s.use(c)
	}
	s.stats.reloaded(err)
	return err
}

// Failed returns a channel with the error of a listener that ended.
func (s *Server) Failed() <-chan error { return s.failed }

// Stop ends the listeners after the requests that have begun.
func (s *Server) Stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWithin)
	defer cancel()
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i](ctx)
	}
}

func (s *Server) listen(ctx context.Context, c *config.Config) error {
	upstream := transport()
	upstream.ResponseHeaderTimeout = c.Limits.UpstreamTimeout
	upstream.DisableCompression = true
	handlers := []struct {
		on      *config.Listener
		mode    string
		handler func(report func(*http.Request, decide.Verdict)) http.Handler
	}{
		{c.Listen.Inline, "inline", func(report func(*http.Request, decide.Verdict)) http.Handler {
			return inline.New(s.engine.Load, report, peerOf, upstream, s.log)
		}},
		{c.Listen.ForwardAuth, "forward_auth", func(report func(*http.Request, decide.Verdict)) http.Handler {
			return &forwardauth.Handler{Engine: s.engine.Load, Report: report, Peer: peerOf}
		}},
	}
	for _, h := range handlers {
		if h.on == nil {
			continue
		}
		handler := h.handler(func(_ *http.Request, v decide.Verdict) { s.report(h.mode, v) })
		if err := s.serve(ctx, h.on, s.limited(s.stats.traced(h.mode, handler)), c.Limits.HeaderBytes); err != nil {
			return err
		}
	}
	if c.Listen.ExtAuthz != nil {
		if err := s.serveGRPC(ctx, c); err != nil {
			return err
		}
	}
	if c.Listen.Operations == "" {
		return nil
	}
	return s.serve(ctx, &config.Listener{Address: c.Listen.Operations}, s.operations(s.health), c.Limits.HeaderBytes)
}

func (s *Server) serve(ctx context.Context, on *config.Listener, handler http.Handler, headerBytes int) error {
	l, err := open(ctx, on)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderWithin, IdleTimeout: idleFor, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	s.stops = append(s.stops, func(ctx context.Context) { _ = server.Shutdown(ctx) })
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("%s: %w", on.Address, err)
		}
	}()
	return nil
}

func (s *Server) serveGRPC(ctx context.Context, c *config.Config) error {
	plain := &config.Listener{Address: c.Listen.ExtAuthz.Address}
	l, err := open(ctx, plain)
	if err != nil {
		return err
	}
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(c.Limits.BodyBytes + c.Limits.HeaderBytes + 64<<10),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleFor}), grpc.UnaryInterceptor(s.limitedGRPC)}
	if c.Listen.ExtAuthz.TLS != nil {
		settings, err := tlsOf(c.Listen.ExtAuthz.TLS)
		if err != nil {
			return err
		}
		settings.NextProtos = []string{"h2"}
		options = append(options, grpc.Creds(credentials.NewTLS(settings)))
	}
	server := grpc.NewServer(options...)
	authv3.RegisterAuthorizationServer(server, &extauthz.Server{Engine: s.engine.Load, Peer: grpcPeer,
		Report: func(v decide.Verdict) { s.report("ext_authz", v) }})
	s.stops = append(s.stops, func(context.Context) { server.GracefulStop() })
	go func() {
		if err := server.Serve(l); err != nil {
			s.failed <- fmt.Errorf("%s: %w", plain.Address, err)
		}
	}()
	return nil
}

func open(ctx context.Context, on *config.Listener) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", on.Address)
	if err != nil || on.TLS == nil {
		return l, err
	}
	settings, err := tlsOf(on.TLS)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(l, settings), nil
}

// tlsOf returns the settings of a listener. Certificates are read for each connection, so that they can be renewed.
func tlsOf(files *config.TLS) (*tls.Config, error) {
	if _, err := tls.LoadX509KeyPair(files.Certificate, files.Key); err != nil {
		return nil, err
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
		return &pair, err
	}}
	if files.ClientCA == "" {
		return settings, nil
	}
	text, err := os.ReadFile(files.ClientCA)
	if err != nil {
		return nil, err
	}
	settings.ClientCAs, settings.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !settings.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", files.ClientCA)
	}
	return settings, nil
}

func peerOf(r *http.Request) principal.Peer {
	p := principal.Peer{IP: inline.PeerIP(r)}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		p.Names = r.TLS.PeerCertificates[0].DNSNames
	}
	return p
}

func grpcPeer(p *peer.Peer) principal.Peer {
	var out principal.Peer
	if p == nil {
		return out
	}
	if at, err := netip.ParseAddrPort(p.Addr.String()); err == nil {
		out.IP = at.Addr()
	}
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
		out.Names = info.State.PeerCertificates[0].DNSNames
	}
	return out
}
