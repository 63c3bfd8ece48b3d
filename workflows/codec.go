package workflows

import (
	"encoding/json"
	"fmt"
	"net/http"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// payloadPurpose names the keyring's subkey for payloads.
const payloadPurpose = "temporal-payload"

// encodingSealed marks a payload that this codec sealed.
const encodingSealed = "binary/countersign-sealed"

// Codec seals payloads before they leave the process and opens them when they come back. The whole payload is sealed, its
// metadata too: Temporal and its database see lengths only.
type Codec struct{ keys *keyring.Keyring }

// NewCodec makes a codec on the keyring. Payloads of an older key of the ring can be read.
func NewCodec(keys *keyring.Keyring) *Codec { return &Codec{keys: keys} }

// Encode seals each payload.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("payload %d: %w", i, err)
		}
		sealed, err := c.keys.Seal(payloadPurpose, plain, []byte(encodingSealed))
		if err != nil {
			return nil, fmt.Errorf("payload %d: %w", i, err)
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingSealed)}, Data: sealed,
		}
	}
	return out, nil
}

// Decode opens what Encode sealed and leaves every other payload as it is.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingSealed {
			out[i] = p
			continue
		}
		plain, err := c.keys.Open(payloadPurpose, p.GetData(), []byte(encodingSealed))
		if err != nil {
			return nil, fmt.Errorf("payload %d cannot be opened: %w", i, err)
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, fmt.Errorf("payload %d: %w", i, err)
		}
	}
	return out, nil
}

// Converters are the data and failure converters of every client and worker: payloads sealed, and the texts of failures
// with them.
func Converters(keys *keyring.Keyring) (converter.DataConverter, converter.FailureConverter) {
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), NewCodec(keys))
	return data, temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: data, EncodeCommonAttributes: true,
	})
}

// maxCodecBody bounds a request to the codec endpoint: Temporal's own limit for a history page is 4 MiB.
const maxCodecBody = 8 << 20

// CodecHandler is what the Temporal UI asks to show payloads: POST .../decode with a list of payloads (the UI's codec
// server protocol). It decodes and never encodes: nobody may make payloads through it. Who may ask is the caller's to
// decide, before this handler. Origin is the UI's; no other page in a browser may read the answer.
func CodecHandler(codec *Codec, origin string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Methods", "POST, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Vary", "Origin")
		h.Set("Cache-Control", "no-store")
		switch r.Method {
		case http.MethodOptions:
			w.WriteHeader(http.StatusNoContent)
		case http.MethodPost:
			decodeRequest(codec, w, r)
		default:
			h.Set("Allow", "POST, OPTIONS")
			http.Error(w, "decode takes POST", http.StatusMethodNotAllowed)
		}
	})
}

// decodeRequest reads {"payloads": [...]} and answers the same with every payload open.
func decodeRequest(codec *Codec, w http.ResponseWriter, r *http.Request) {
	var body struct {
		Payloads []json.RawMessage `json:"payloads"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCodecBody)).Decode(&body); err != nil {
		http.Error(w, "the body is not a list of payloads", http.StatusBadRequest)
		return
	}
	payloads := make([]*commonpb.Payload, len(body.Payloads))
	for i, raw := range body.Payloads {
		payloads[i] = &commonpb.Payload{}
		if err := protojson.Unmarshal(raw, payloads[i]); err != nil {
			http.Error(w, "the body is not a list of payloads", http.StatusBadRequest)
			return
		}
	}
	opened, err := codec.Decode(payloads)
	if err != nil {
		http.Error(w, "a payload cannot be opened with the keys of this service", http.StatusBadRequest)
		return
	}
	writePayloads(w, opened)
}

func writePayloads(w http.ResponseWriter, payloads []*commonpb.Payload) {
	out := struct {
		Payloads []json.RawMessage `json:"payloads"`
	}{Payloads: make([]json.RawMessage, len(payloads))}
	for i, p := range payloads {
		raw, err := protojson.Marshal(p)
		if err != nil {
			http.Error(w, "a payload cannot be written", http.StatusInternalServerError)
			return
		}
		out.Payloads[i] = raw
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}
