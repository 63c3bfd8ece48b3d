package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// webUI is Temporal's web UI. Its server listens on one address only and exits the process if it cannot, so it gets
// a private port, and devstack runs a reverse proxy in front of it on both address families of localhost.
type webUI struct {
	port      int
	listeners []net.Listener
	backend   *server.Server
	front     *http.Server
}

// listenUI listens on port of host, or on a free port if port is 0. If host is 127.0.0.1 and the machine has IPv6, it
// also listens on [::1].
func listenUI(host string, port int) (*webUI, error) {
	const tries = 50
	for attempt := 0; ; attempt++ {
		u, err := tryListenUI(host, port)
		if err == nil {
			return u, nil
		}
		if port != 0 || attempt == tries {
			return nil, portError(port, "ui-port", err)
		}
	}
}

func tryListenUI(host string, port int) (*webUI, error) {
	v4, err := listen(host, port)
	if err != nil {
		return nil, err
	}
	u := &webUI{port: v4.Addr().(*net.TCPAddr).Port, listeners: []net.Listener{v4}}
	if host != loopback || !hasIPv6() {
		return u, nil
	}
	v6, err := listen("::1", u.port)
	if err != nil {
		_ = v4.Close()
		return nil, err
	}
	u.listeners = append(u.listeners, v6)
	return u, nil
}

// hasIPv6 reports whether the machine has the loopback address [::1] at all.
func hasIPv6() bool {
	l, err := listen("::1", 0)
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// url returns the URL for a browser.
func (u *webUI) url() string { return fmt.Sprintf("http://localhost:%d", u.port) }

// start serves the UI of the server at frontend. The UI's own server listens on backendPort of 127.0.0.1.
func (u *webUI) start(o options, frontend string, backendPort int) {
	u.backend = server.NewServer(server_options.WithConfigProvider(&uiconfig.Config{
		TemporalGRPCAddress: frontend,
		Host:                loopback,
		Port:                backendPort,
		EnableUI:            true,
		DefaultNamespace:    o.namespaces[0],
		DisableNewsFetch:    true,
		HideLogs:            true,
		Codec:               uiconfig.Codec{Endpoint: o.codecEndpoint, IncludeCredentials: true},
		CORS:                uiconfig.CORS{CookieInsecure: true}, // plain http on localhost
	}))
	go func() { _ = u.backend.Start() }()

	target := &url.URL{Scheme: "http", Host: address(loopback, backendPort)}
	u.front = &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // the UI compares it with the request's origin
		}},
	}
	for _, l := range u.listeners {
		go func() { _ = u.front.Serve(l) }()
	}
}

// await returns once the page and its API respond.
func (u *webUI) await(ctx context.Context) error {
	client := &http.Client{Timeout: time.Second}
	for _, path := range []string{"/", "/api/v1/system-info"} {
		for !responds(ctx, client, fmt.Sprintf("http://%s%s", address(loopback, u.port), path)) {
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return fmt.Errorf("the web UI does not respond: %w", err)
			}
		}
	}
	return nil
}

// responds reports whether target returns status 200.
func responds(ctx context.Context, client *http.Client, target string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode == http.StatusOK
}

// stop ends the UI at once; it has no work that must complete.
func (u *webUI) stop() {
	for _, l := range u.listeners {
		_ = l.Close()
	}
	if u.front != nil {
		_ = u.front.Close()
	}
	if u.backend != nil {
		u.backend.Stop()
	}
}
