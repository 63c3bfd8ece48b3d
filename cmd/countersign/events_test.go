package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// A stream that ends before its first event, or after a resync, is followed from its position and not from the present.
func TestListenContinuesWhereAStreamEnded(t *testing.T) {
	t.Parallel()
	streams := []string{
		"id: pos_1\nretry: 2000\n\n",
		"retry: 2000\n\nid: pos_2\nevent: resync\ndata: {}\n\n",
		"id: pos_2\nretry: 2000\n\nid: evt_3\nevent: subject.created\ndata: {\"id\":\"evt_3\",\"type\":\"subject.created\",\"at\":\"2026-03-01T12:00:00.000Z\"}\n\n",
	}
	ctx, cancel := context.WithCancel(t.Context())
	var from []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from = append(from, r.Header.Get("Last-Event-ID"))
		if len(from) > len(streams) {
			cancel()
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(streams[len(from)-1]))
	}))
	t.Cleanup(server.Close)
	client, err := countersign.New(server.URL, "sk_test_x")
	require.NoError(t, err)
	var out bytes.Buffer
	l := &listener{out: &out, notes: &out}
	require.NoError(t, l.follow(ctx, client))
	server.Close()
	require.Equal(t, []string{"", "pos_1", "pos_2", "evt_3"}, from)
	require.Contains(t, out.String(), "events were missed")
	require.Contains(t, out.String(), "evt_3")
}
