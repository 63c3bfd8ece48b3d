package workflows

import (
	"encoding/json"
	"fmt"
	"net/http"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// payloadPurpose names the keyring's subkey for payloads.
const payloadPurpose = "temporal-payload"

// encodingSealed is the encoding of an encrypted payload. Histories contain it: never change it.
const encodingSealed = "binary/countersign-sealed"

// Codec encrypts payloads before they leave the process and decrypts them when they return. It encrypts the whole payload
// with its metadata: Temporal and its database see lengths only.
type Codec struct {
	keys     *keyring.Keyring
	workflow string // id of the workflow that the payloads belong to; empty if the caller does not know it
}

// NewCodec returns a codec on the keyring. It decrypts payloads of every key in the ring.
func NewCodec(keys *keyring.Keyring) *Codec { return &Codec{keys: keys} }

// Encode encrypts each payload.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(c.mark(p))
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

// Decode decrypts what Encode encrypted and returns every other payload unchanged.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		opened, _, err := c.open(p)
		if err != nil {
			return nil, fmt.Errorf("payload %d: %w", i, err)
		}
		out[i] = opened
	}
	return out, nil
}

// open decrypts a payload and returns the id of its workflow; empty if the payload does not say it or is not encrypted.
func (c *Codec) open(p *commonpb.Payload) (opened *commonpb.Payload, id string, err error) {
	if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingSealed {
		return p, "", nil
	}
	plain, err := c.keys.Open(payloadPurpose, p.GetData(), []byte(encodingSealed))
	if err != nil {
		return nil, "", fmt.Errorf("it cannot be opened: %w", err)
	}
	opened = &commonpb.Payload{}
	if err := proto.Unmarshal(plain, opened); err != nil {
		return nil, "", err
	}
	id = string(opened.GetMetadata()[metadataWorkflow])
	delete(opened.GetMetadata(), metadataWorkflow)
	return opened, id, nil
}

// Converters returns the data and failure converters of every client and worker. They encrypt payloads and the texts of
// failures.
func Converters(keys *keyring.Keyring) (converter.DataConverter, converter.FailureConverter) {
	data := values{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), NewCodec(keys))}
	return data, newFailures(data)
}

// maxCodecBody is the maximum size of a request to the codec endpoint, in bytes. For comparison, Temporal's own
// limit for a history page is 4 MiB.
const maxCodecBody = 8 << 20

// codecHeaders sets the headers of every response.
func codecHeaders(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Vary", "Origin")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

func readPayloads(w http.ResponseWriter, r *http.Request) ([]*commonpb.Payload, error) {
	var body struct {
		Payloads []json.RawMessage `json:"payloads"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCodecBody)).Decode(&body); err != nil {
		return nil, err
	}
	payloads := make([]*commonpb.Payload, len(body.Payloads))
	for i, raw := range body.Payloads {
		payloads[i] = &commonpb.Payload{}
		if err := protojson.Unmarshal(raw, payloads[i]); err != nil {
			return nil, err
		}
	}
	return payloads, nil
}

// writePayloads responds with a list of payloads in their JSON form.
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
