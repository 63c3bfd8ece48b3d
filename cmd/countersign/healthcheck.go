package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// askWithin bounds the request. Each readiness check has its own, shorter bound.
const askWithin = 10 * time.Second

// healthcheckCommand is for container images, which have no shell and no curl.
func healthcheckCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Report whether the serve or worker process on this machine is ready, by exit code 0 or 1",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			said, err := askReady(cmd.Context(), s.opsListen)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		},
	}
	bind(cmd, s.addresses("")...)
	return cmd
}

// askReady returns the body of /readyz, and an error unless the status is 200. listen is the address that the process
// listens at.
func askReady(ctx context.Context, listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", usage("COUNTERSIGN_OPS_LISTEN is %q: want host:port", listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/readyz"}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{}} // no proxy: it is this machine
	resp, err := client.Do(req)                         // #nosec G704 -- the address that the operator gave the process
	if err != nil {
		return "", fmt.Errorf("no process responds: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return "", err
	}
	said := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("not ready: %s", said)
	}
	return said, nil
}
