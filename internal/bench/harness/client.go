package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// Client asks the API in the name of one key. It sends each request once: what to do about one that was not answered is
// the caller's to decide.
type Client struct {
	http *fasthttp.HostClient
	base string
	key  string
}

// Answer is what came back.
type Answer struct {
	Status     int
	Body       []byte
	RetryAfter string
	Replayed   bool
}

// NewClient makes a client with as many connections as it needs; a request without an answer fails after patience.
func NewClient(base, key string, patience time.Duration) *Client {
	return &Client{base: base, key: key, http: &fasthttp.HostClient{
		Addr: strings.TrimPrefix(base, "http://"), MaxConns: 4096, MaxIdemponentCallAttempts: 1,
		ReadTimeout: patience, WriteTimeout: patience, MaxIdleConnDuration: time.Minute,
	}}
}

// Do sends a request. A body of bytes goes as it is, nil is none, anything else is marshalled.
func (c *Client) Do(method, path string, body any) (Answer, error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(c.base + path)
	req.Header.SetMethod(method)
	req.Header.Set("Authorization", "Bearer "+c.key)
	switch b := body.(type) {
	case nil:
	case []byte:
		req.Header.SetContentType("application/json")
		req.SetBodyRaw(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return Answer{}, err
		}
		req.Header.SetContentType("application/json")
		req.SetBodyRaw(text)
	}
	if err := c.http.Do(req, resp); err != nil {
		return Answer{}, err
	}
	return Answer{
		Status: resp.StatusCode(), Body: append([]byte(nil), resp.Body()...),
		RetryAfter: string(resp.Header.Peek("Retry-After")), Replayed: len(resp.Header.Peek("Idempotent-Replayed")) > 0,
	}, nil
}

// Want sends a request and reads a JSON answer of the wanted status into out (nil drops it).
func (c *Client) Want(status int, method, path string, body, out any) error {
	a, err := c.Do(method, path, body)
	if err != nil {
		return err
	}
	if a.Status != status {
		return fmt.Errorf("%s %s answered %d: %s", method, path, a.Status, a.Body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.Body, out)
}
