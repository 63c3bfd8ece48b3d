package destination

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/internal/delivery/webhook"
	"github.com/countersign-dev/countersign/models"
)

// maxResponse bounds the part of a response that is read.
const maxResponse = 64 << 10

// mediaTypes are those of the bodies, by encoding.
var mediaTypes = map[string]string{
	EncodingProtobuf: "application/x-protobuf", EncodingJSON: "application/json", EncodingLines: "application/x-ndjson", EncodingArray: "application/json",
}

// httpOutput sends a batch as one request. The response confirms it.
type httpOutput struct {
	client *http.Client
	row    models.ExportDestination
	secret string // value of the header of the credential; empty for none
}

func newHTTPOutput(client *http.Client, row models.ExportDestination, secret string) *httpOutput {
	return &httpOutput{client, row, secret}
}

func (o *httpOutput) close() { o.client.CloseIdleConnections() }

func (o *httpOutput) send(ctx context.Context, b batch) *fault {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.row.URL, bytes.NewReader(b.body))
	if err != nil {
		return &fault{text: "The request cannot be made: " + webhook.ErrorURL + "."}
	}
	req.Header.Set("Content-Type", mediaTypes[o.row.Encoding])
	req.Header.Set("User-Agent", "Countersign-Export/1")
	if o.secret != "" {
		req.Header.Set(o.row.Header, o.secret)
	}
	res, err := o.client.Do(req)
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		_, _ = io.CopyN(io.Discard, res.Body, maxResponse)
		wait := webhook.RetryAfter(res.Header.Get("Retry-After"), time.Now()) //nolint:forbidigo // a date is relative to the machine's time
		return &fault{text: fmt.Sprintf("The receiver responded with status %d.", res.StatusCode), retryAfter: wait, tooLarge: res.StatusCode == http.StatusRequestEntityTooLarge}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return unreachable(err)
	}
	if o.row.Kind == models.DestinationOTLP {
		return refusedRecords(res.Header.Get("Content-Type"), body)
	}
	return nil
}

// refusedRecords returns a fault if a receiver took a part of a batch only (OTLP, "Partial Success"). It is sent again as a whole: entries that the
// receiver has are recognised by their ids, and none is omitted.
func refusedRecords(media string, body []byte) *fault {
	var res logs.ExportLogsServiceResponse
	read := func(raw []byte) error { return proto.Unmarshal(raw, &res) }
	if strings.HasPrefix(media, mediaTypes[EncodingJSON]) {
		read = func(raw []byte) error { return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(raw, &res) }
	}
	if len(body) == 0 || read(body) != nil || res.GetPartialSuccess().GetRejectedLogRecords() == 0 {
		return nil
	}
	return &fault{text: fmt.Sprintf("The receiver rejected %d records of the batch.", res.GetPartialSuccess().GetRejectedLogRecords())}
}

// unreachable describes a failed connection by one of the codes of webhooks, which reveal nothing about the network.
func unreachable(err error) *fault {
	return &fault{text: "The receiver cannot be reached: " + webhook.ErrorCode(err) + "."}
}
