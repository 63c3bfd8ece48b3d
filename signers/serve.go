package signers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Flags are the flags of every command.
type Flags struct {
	listen, tokenFile, cert, certKey string
}

// Bind adds the flags to the command line.
func (f *Flags) Bind() {
	flag.StringVar(&f.listen, "listen", "127.0.0.1:8210", "host:port; an address of another machine needs -cert")
	flag.StringVar(&f.tokenFile, "auth-token-file", "", "file with the token that callers must send")
	flag.StringVar(&f.cert, "cert", "", "file with the certificate, for TLS")
	flag.StringVar(&f.certKey, "cert-key", "", "file with the key of the certificate")
}

// Serve serves the device until the process is interrupted. It returns at once if the device cannot be used.
func (f *Flags) Serve(mount string, d Device) error {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	host, _, err := net.SplitHostPort(f.listen)
	switch ip := net.ParseIP(host); {
	case err != nil:
		return fmt.Errorf("-listen: %w", err)
	case f.tokenFile == "":
		return errors.New("-auth-token-file is not set: want a file with the token that callers must send")
	case f.cert == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()):
		return errors.New("-cert is not set: without TLS, listen on 127.0.0.1")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := d.Find(ctx, "countersign-check"); err != nil && !errors.Is(err, ErrNoKey) {
		return fmt.Errorf("the device cannot be used: %w", err)
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: (&Server{Device: d, Mount: mount, TokenFile: f.tokenFile, Log: log}).Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	context.AfterFunc(ctx, func() { _ = s.Shutdown(context.WithoutCancel(ctx)) })
	log.Info("serving", "address", l.Addr().String(), "mount", mount)
	if f.cert != "" {
		err = s.ServeTLS(l, f.cert, f.certKey)
	} else {
		err = s.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Secret returns the content of a file without the white space around it.
func Secret(file string) (string, error) {
	text, err := os.ReadFile(file) // #nosec G304 -- the operator names the file
	return strings.TrimSpace(string(text)), err
}
