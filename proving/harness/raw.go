package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// NewSDK makes a client of sdk/go for the API at base. All set-up goes through it; only what RawClient names does not.
func NewSDK(base, key string, timeout time.Duration) (*countersign.Client, error) {
	return countersign.New(base, key, countersign.WithTimeout(timeout))
}

// RawClient sends requests of one key without what sdk/go adds to them. Measured loads need that, because the SDK checks each
// response against the contract on the CPU that the service is measured on. Chaos needs it, because it counts every try and
// compares responses byte for byte. It sends each request once: a retry is the caller's decision.
type RawClient struct {
	http *fasthttp.HostClient
	base string
	key  string
}

// Response is the part of an HTTP response that callers read.
type Response struct {
	Status     int
	Body       []byte
	RetryAfter string // the header, as sent; empty if missing
}

// NewRawClient makes a client with as many connections as it needs. A request without a response fails after timeout.
func NewRawClient(base, key string, timeout time.Duration) *RawClient {
	return &RawClient{base: base, key: key, http: &fasthttp.HostClient{
		Addr: strings.TrimPrefix(base, "http://"), MaxConns: 4096, MaxIdemponentCallAttempts: 1,
		ReadTimeout: timeout, WriteTimeout: timeout, MaxIdleConnDuration: time.Minute,
	}}
}

// Do sends a request. Bytes are sent unchanged, nil sends no body, any other body is marshalled to JSON.
func (c *RawClient) Do(method, path string, body any) (Response, error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(c.base + path)
	req.Header.SetMethod(method)
	req.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		text, ok := body.([]byte)
		if !ok {
			var err error
			if text, err = json.Marshal(body); err != nil {
				return Response{}, err
			}
		}
		req.Header.SetContentType("application/json")
		req.SetBodyRaw(text)
	}
	if err := c.http.Do(req, resp); err != nil {
		return Response{}, err
	}
	return Response{
		Status: resp.StatusCode(), Body: append([]byte(nil), resp.Body()...), RetryAfter: string(resp.Header.Peek("Retry-After")),
	}, nil
}

// DoOK sends a request and decodes the response into out; a nil out drops it. Any status but 200 is an error.
func (c *RawClient) DoOK(method, path string, body, out any) error {
	r, err := c.Do(method, path, body)
	if err != nil {
		return err
	}
	if r.Status != http.StatusOK {
		return fmt.Errorf("%s %s returned status %d: %s", method, path, r.Status, r.Body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(r.Body, out)
}

// OpenStream requests the event stream and returns the response with its body open, whatever its status. The caller closes it.
func OpenStream(ctx context.Context, base, key string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/events/stream", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	return http.DefaultClient.Do(req)
}
