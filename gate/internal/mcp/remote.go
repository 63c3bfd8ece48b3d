package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// remote is a server over Streamable HTTP.
type remote struct {
	url    string
	client *http.Client
	secret func(ctx context.Context, c *Client) (string, error) // of the upstream; the client's token is never sent
	limit  int
}

func newRemote(s *config.MCPServer, transport http.RoundTripper, limit int) *remote {
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r := &remote{url: s.URL.String(), client: client, limit: limit}
	r.secret = func(context.Context, *Client) (string, error) { return s.Bearer, nil }
	if s.Exchange != nil {
		r.secret = newExchange(s.Exchange, client).token
	}
	return r
}

func (r *remote) do(ctx context.Context, c *Client, method string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.url, bytes.NewReader(body)) // #nosec G704 -- the operator names the server
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Session != "" {
		req.Header.Set(headerSession, c.Session)
	}
	secret, err := r.secret(ctx, c)
	if err != nil {
		return nil, err
	}
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	return r.client.Do(req) // #nosec G704 -- the operator names the server
}

// Request posts a request.
func (r *remote) Request(ctx context.Context, c *Client, o Outgoing, out Replier) error {
	res, err := r.do(ctx, c, http.MethodPost, rebuilt(o.Message, o.Version, o.Tool), o.Message.Text())
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	head := Head{Status: res.StatusCode, Stream: kind == "text/event-stream", Session: res.Header.Get(headerSession)}
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden || res.StatusCode >= 500 && kind != "application/json":
		return fmt.Errorf("the server responds with status %d", res.StatusCode)
	case head.Stream && res.StatusCode == http.StatusOK:
		out.Begin(head)
		return events(res.Body, r.limit, func(e Event) (last bool) {
			if e.Message != nil && e.Message.Response() && string(e.Message.ID) != string(o.Message.ID) {
				return false
			}
			out.Send(e)
			return e.Message != nil && e.Message.Response()
		})
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, int64(r.limit)))
	if err != nil {
		return err
	}
	head.Stream = false
	out.Begin(head)
	m, err := rpc.FromServer(text)
	if err == nil && m.Response() && (string(m.ID) == string(o.Message.ID) || string(m.ID) == "null" && m.Error != nil || m.ID == nil && m.Error != nil) {
		m.ID = o.Message.ID
		out.Send(Event{Message: m})
		return nil
	}
	if res.StatusCode/100 == 4 {
		return nil // a status without a message, by which clients find out the revision, or that their session has ended
	}
	return errBroken
}

// Send posts a notification or a response.
func (r *remote) Send(ctx context.Context, c *Client, o Outgoing) error {
	res, err := r.do(ctx, c, http.MethodPost, rebuilt(o.Message, o.Version, nil), o.Message.Text())
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	_ = res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return errNoSession
	case res.StatusCode/100 != 2:
		return fmt.Errorf("the server responds with status %d", res.StatusCode)
	}
	return nil
}

// Listen opens the stream of what the server sends by itself.
func (r *remote) Listen(ctx context.Context, c *Client, after string, out Replier) error {
	header := http.Header{}
	if c.Version != "" {
		header.Set(headerVersion, c.Version)
	}
	if after != "" {
		header.Set("Last-Event-Id", after)
	}
	res, err := r.do(ctx, c, http.MethodGet, header, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode == http.StatusNotFound:
		return errNoSession
	case res.StatusCode != http.StatusOK || kind != "text/event-stream":
		return errNoListener
	}
	out.Begin(Head{Status: http.StatusOK, Stream: true})
	return events(res.Body, r.limit, func(e Event) bool { out.Send(e); return false })
}

// End ends a session.
func (r *remote) End(ctx context.Context, c *Client) error {
	header := http.Header{}
	if c.Version != "" {
		header.Set(headerVersion, c.Version)
	}
	res, err := r.do(ctx, c, http.MethodDelete, header, nil)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode == http.StatusMethodNotAllowed {
		return errNoListener
	}
	return nil
}

// Ended is nil: there is no program.
func (r *remote) Ended() <-chan struct{} { return nil }

// Close does nothing: a server over HTTP goes on.
func (r *remote) Close() { r.client.CloseIdleConnections() }

// events reads a stream of server-sent events until each returns true.
func events(body io.Reader, limit int, each func(Event) (last bool)) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), limit)
	var e Event
	var data []string
	var size int
	seen := false
	for lines.Scan() {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			if seen && finish(&e, data) && each(e) {
				return nil
			}
			e, data, size, seen = Event{}, nil, 0, false
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			e.ID, seen = value, true
		case "retry":
			e.Retry, seen = value, true
		case "data":
			if size += len(value); size > limit {
				return errors.New("an event of the server is too long")
			}
			data, seen = append(data, value), true
		}
	}
	return lines.Err()
}

// finish reads the message of an event. One that is no message is left out.
func finish(e *Event, data []string) bool {
	text := strings.Join(data, "\n")
	if strings.TrimSpace(text) == "" {
		return true
	}
	m, err := rpc.FromServer([]byte(text))
	e.Message = m
	return err == nil
}
