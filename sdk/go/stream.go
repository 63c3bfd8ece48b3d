package countersign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/countersign-dev/countersign/sdk/go/events"
)

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 1 << 20

// StreamParams selects the events of a stream. Zero fields are not sent.
type StreamParams struct {
	Type        string // only events of this type, or of a family such as hold.*
	Subject     string // only events of this subject
	Action      string // only events of this action
	LastEventID string // resume after this event, or from the position that an earlier stream ended with
}

// StreamedEvent is one event of a stream.
type StreamedEvent struct {
	ID     string          // resume after it with StreamParams.LastEventID; beside an error, where to resume
	Type   string          // such as authorization.decided
	Resync bool            // the id to resume after is unknown or too old: read GET /api/v1/activity, then go on from here
	Data   json.RawMessage // an ActivityEntry; empty where Resync is set
}

// Payload returns the data of the event in its type, such as *events.HoldApproved; *events.Unknown for a type that a later version
// of the service added. It is an error where Resync is set.
func (e StreamedEvent) Payload() (events.Payload, error) {
	var entry struct{ Data json.RawMessage }
	if err := json.Unmarshal(e.Data, &entry); err != nil {
		return nil, fmt.Errorf("countersign: the streamed event %q has no payload: %w", e.Type, err)
	}
	return events.Parse(e.Type, entry.Data)
}

// StreamEvents follows the environment's events (GET /api/v1/events/stream) until the context ends, the caller stops, or
// the connection does, which is after an hour at most or with the key; the last element then has the error, and the ID to resume with, also
// if there was no event. It does not connect again by itself: the caller knows whether the events that it received are processed, and
// resumes after the last of these.
func (c *Client) StreamEvents(ctx context.Context, params StreamParams) iter.Seq2[StreamedEvent, error] {
	return func(yield func(StreamedEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		body, err := c.openStream(ctx, params)
		if err != nil {
			yield(StreamedEvent{ID: params.LastEventID}, err)
			return
		}
		defer func() { _ = body.Close() }()
		last, err := readStream(body, params.LastEventID, func(e StreamedEvent) bool { return yield(e, nil) })
		var garbled *ProtocolError
		if errors.As(err, &garbled) {
			yield(StreamedEvent{ID: last}, err)
		} else if err != nil {
			yield(StreamedEvent{ID: last}, &lost{fmt.Errorf("countersign: the stream of events: %w", err)})
		}
	}
}

func (c *Client) openStream(ctx context.Context, params StreamParams) (io.ReadCloser, error) {
	q := url.Values{}
	set(q, "type", params.Type)
	set(q, "subject", params.Subject)
	set(q, "action", params.Action)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/api/v1/events/stream?"+q.Encode(), nil)
	if err != nil {
		return nil, fmt.Errorf("countersign: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Accept", "text/event-stream")
	if params.LastEventID != "" {
		req.Header.Set("Last-Event-ID", params.LastEventID)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, &lost{fmt.Errorf("countersign: the stream of events: %w", err)}
	}
	if res.StatusCode == http.StatusOK && mediaType(res) == "text/event-stream" {
		return res.Body, nil
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < http.StatusBadRequest {
		return nil, notUnderstood("streamEvents", res, "the response is not a stream of events", nil)
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxEvent))
	return nil, refusal("streamEvents", res, text)
}

// readStream reads server-sent events (WHATWG HTML, section 9.2) that follow the id last and passes each to take. It returns the
// id of the last complete message, which may have had no event, and no error if take returns false.
func readStream(body io.Reader, last string, take func(StreamedEvent) bool) (string, error) {
	scanner := bufio.NewScanner(body)
	scanner.Buffer(make([]byte, 0, 4096), maxEvent)
	e := StreamedEvent{ID: last}
	for scanner.Scan() {
		line := scanner.Bytes()
		if len(line) == 0 {
			if len(e.Data) > 0 && !json.Valid(e.Data) {
				return last, &ProtocolError{Operation: "streamEvents", Status: http.StatusOK, Msg: "the data of an event is not JSON"}
			}
			last = e.ID
			if e.Type != "" && !take(e) {
				return last, nil
			}
			e = StreamedEvent{ID: last}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			e.ID = string(value)
		case "event":
			e.Type = string(value)
			e.Resync = e.Type == "resync"
		case "data":
			e.Data = append(e.Data, value...)
		}
	}
	if err := scanner.Err(); err != nil {
		return last, err
	}
	return last, io.ErrUnexpectedEOF
}
