package mcp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
)

// httpReply is the response to a POST: one JSON object if nothing precedes the response, and a stream otherwise.
type httpReply struct {
	session func(upstream string) string // the id of the session that begins; nil for none

	mu     sync.Mutex
	w      http.ResponseWriter
	head   Head
	stream bool
	ended  bool
}

// Begin keeps the head of the server's response.
func (r *httpReply) Begin(h Head) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream || r.ended {
		return
	}
	r.head = h
	if h.Stream {
		r.open()
	}
}

// open begins the stream.
func (r *httpReply) open() {
	r.stream = true
	r.w.Header().Set("Content-Type", "text/event-stream")
	r.w.Header().Set("Cache-Control", "no-cache, no-transform")
	r.w.Header().Set("X-Accel-Buffering", "no")
	r.begun()
	r.w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(r.w).Flush()
}

func (r *httpReply) begun() {
	if r.session != nil {
		r.w.Header().Set(headerSession, r.session(r.head.Session))
	}
}

// Send writes an event, or the response.
func (r *httpReply) Send(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	response := e.Message != nil && e.Message.Response()
	if response {
		r.ended = true
	}
	if response && !r.stream {
		if r.head.Status == 0 {
			r.head.Status = http.StatusOK
		}
		if r.head.Status == http.StatusOK && e.Message.Error == nil {
			r.begun()
		}
		writeJSON(r.w, r.head.Status, e.Message)
		return
	}
	if !r.stream {
		r.open()
	}
	var text []byte
	if e.ID != "" {
		text = append(append(append(text, "id: "...), e.ID...), '\n')
	}
	if e.Retry != "" {
		text = append(append(append(text, "retry: "...), e.Retry...), '\n')
	}
	text = append(text, "data: "...)
	if e.Message != nil {
		text = append(append([]byte("event: message\n"), text...), e.Message.Text()...)
	}
	_, _ = r.w.Write(append(text, "\n\n"...)) // a client that has gone ends the request
	_ = http.NewResponseController(r.w).Flush()
}

func (r *httpReply) streaming() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stream
}

// end completes a response without a message.
func (r *httpReply) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended && !r.stream {
		switch {
		case errors.Is(err, context.Canceled): // a request that was cancelled has no response
			r.open()
		case err != nil:
			r.w.WriteHeader(http.StatusServiceUnavailable)
		case r.head.Status != 0:
			r.w.WriteHeader(r.head.Status)
		default:
			r.w.WriteHeader(http.StatusBadGateway)
		}
	}
	r.ended = true
}

// fanout is where a program's own messages go: to the client's open stream, or to a request that waits.
type fanout struct {
	mu        sync.Mutex
	listeners []Replier
	requests  []Replier
}

// Begin does nothing.
func (*fanout) Begin(Head) {}

// Send passes a message on to one of the client's streams.
func (f *fanout) Send(e Event) {
	f.mu.Lock()
	all := append(slices.Clone(f.listeners), f.requests...)
	f.mu.Unlock()
	if len(all) > 0 {
		all[0].Send(e)
	}
}

func (f *fanout) add(r Replier) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r)
}

func (f *fanout) listen(r Replier) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners = append(f.listeners, r)
}

func (f *fanout) remove(r Replier) {
	f.mu.Lock()
	defer f.mu.Unlock()
	same := func(other Replier) bool { return other == r }
	f.requests, f.listeners = slices.DeleteFunc(f.requests, same), slices.DeleteFunc(f.listeners, same)
}
