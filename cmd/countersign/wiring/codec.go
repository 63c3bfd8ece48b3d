package wiring

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/internal/delivery/histories"
	"github.com/countersign-dev/countersign/web/console/shell"
	"github.com/countersign-dev/countersign/workflows"
)

// CodecOptions configure the port at which the Temporal UI has the payloads of histories decrypted for auditors.
type CodecOptions struct {
	Origin string      // of the UI
	TLS    *tls.Config // nil: plain HTTP, for this machine only
}

// maxCodecHeaders is the maximum size of a request's headers, in bytes.
const maxCodecHeaders = 16 << 10

// codec decrypts payloads for auditors who use the Temporal UI at the origin.
func (p *Process) codec(origin string) http.Handler {
	return workflows.AuditorsCodec{
		Codec: workflows.NewCodec(p.Keys), Service: histories.New(p.Store, p.Clock, p.People, p.Identity), Log: p.Log,
		Origin: origin, Cookie: shell.SessionCookie(p.BaseURL),
	}
}

// StartCodec serves auditors; the returned function lets requests under way finish and stops it.
func (p *Process) StartCodec(o CodecOptions, failed chan<- error, l net.Listener) (stop func()) {
	server := &http.Server{
		Handler:   p.codec(o.Origin),
		TLSConfig: o.TLS, MaxHeaderBytes: maxCodecHeaders, ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 20 * time.Second, WriteTimeout: 40 * time.Second, IdleTimeout: time.Minute,
	}
	go func() {
		serve := server.Serve
		if o.TLS != nil {
			serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
		}
		if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("the codec endpoint at %s ended: %w", l.Addr(), err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), drainWithin)
		defer cancel()
		_ = server.Shutdown(ctx)
	}
}
