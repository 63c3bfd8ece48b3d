// Package openapi is the contract: the OpenAPI 3.1 document that the service serves, and validators compiled from
// that same document, so that a rule is written once. The package knows no HTTP framework, no storage and no
// business rule; what JSON Schema cannot say (a stale request, an unknown reason code) is checked by the services.
//
// The document is written in src/*.yaml and assembled by gen into openapi.json.
package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
)

//go:generate go run ./gen
//go:generate go run ./gosdk

//go:embed openapi.json
var source []byte

type served struct {
	body    []byte
	etag    string
	version string
}

var document = sync.OnceValue(func() served {
	var b bytes.Buffer
	if err := json.Compact(&b, source); err != nil {
		panic(fmt.Sprintf("openapi: the embedded document is not JSON: %v", err)) // a broken build; tests see it first
	}
	var head struct {
		Info struct{ Version string }
	}
	if err := json.Unmarshal(b.Bytes(), &head); err != nil {
		panic(fmt.Sprintf("openapi: the embedded document has no info: %v", err))
	}
	return served{body: b.Bytes(), etag: TagOf(b.Bytes()), version: head.Info.Version}
})

// TagOf is the quoted entity tag of a body: what has another is another body.
func TagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"sha256-` + hex.EncodeToString(sum[:8]) + `"`
}

// Document returns the contract as minified JSON. The caller must not change it.
func Document() []byte { return document().body }

// ETag returns the quoted entity tag of Document.
func ETag() string { return document().etag }

// Version returns the contract's version, info.version of the document.
func Version() string { return document().version }
