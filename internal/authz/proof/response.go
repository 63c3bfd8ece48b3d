package proof

import "bytes"

// The bytes around a proof in a JSON body: the fields of an AuthorizeResponse end with proof and proof_id.
const (
	fieldStart   = `"proof":"`
	fieldNull    = `"proof":null`
	fieldRemoved = fieldNull + `,"proof_id":"` // null beside a proof_id: the proof was removed
)

// Remove returns a receipt that ends with an AuthorizeResponse with its proof replaced by null. Stored receipts have this form: a proof is
// stored once, sealed, in its own row.
func Remove(body []byte) []byte {
	at := bytes.LastIndex(body, []byte(fieldStart))
	if at < 0 {
		return body
	}
	end := bytes.IndexByte(body[at+len(fieldStart):], '"')
	if end < 0 {
		return body
	}
	out := make([]byte, 0, len(body))
	out = append(append(out, body[:at]...), fieldNull...)
	return append(out, body[at+len(fieldStart)+end+1:]...)
}

// Removed reports whether Remove took a proof out of the body.
func Removed(body []byte) bool { return bytes.Contains(body, []byte(fieldRemoved)) }

// Restore puts a proof back where Remove took it out and returns the body byte for byte as it was. A body that Remove did
// not change is returned as it is.
func Restore(body, compact []byte) []byte {
	at := bytes.LastIndex(body, []byte(fieldRemoved))
	if at < 0 {
		return body
	}
	out := make([]byte, 0, len(body)+len(compact))
	out = append(append(append(out, body[:at]...), fieldStart...), compact...)
	return append(append(out, '"'), body[at+len(fieldNull):]...)
}
