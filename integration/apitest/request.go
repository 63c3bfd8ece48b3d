// Package apitest shares helpers between the integration tests and the browser tests: a relying party that calls the
// service through sdk/go, one helper for raw requests, and synthetic typists with their evidence.
//
// Only tests may import it.
package apitest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// Object is a JSON object.
type Object = map[string]any

// Audience is the audience of proofs in most tests.
const Audience = "payments"

// patience bounds one HTTP request; a loaded machine may need it.
const patience = 60 * time.Second

// Client sends the requests of all tests. It follows no redirect, so that a test can check its target.
var Client = &http.Client{
	Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 100},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Response is a response with its whole body.
type Response struct {
	Method, Path string // of the request
	Status       int
	Header       http.Header
	Body         []byte
}

// Request is one raw request, for what sdk/go does not send: malformed bodies, unusual headers, foreign keys.
type Request struct {
	Base, Key    string // an empty Key sends no Authorization header
	Method, Path string
	Header       map[string]string
	Body         any // nil for none; []byte is sent unchanged, everything else as JSON
}

// Send sends the request.
func (r Request) Send() (Response, error) {
	var text []byte
	switch b := r.Body.(type) {
	case nil:
	case []byte:
		text = b
	default:
		var err error
		if text, err = json.Marshal(b); err != nil {
			return Response{}, err
		}
	}
	req, err := http.NewRequest(r.Method, r.Base+r.Path, bytes.NewReader(text))
	if err != nil {
		return Response{}, err
	}
	if r.Key != "" {
		req.Header.Set("Authorization", "Bearer "+r.Key)
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	res, err := Client.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return Response{Method: r.Method, Path: r.Path, Status: res.StatusCode, Header: res.Header, Body: body}, err
}

// Unique returns a short word that no other call returns.
func Unique() string { return strings.ToLower(rand.Text()[:12]) }
