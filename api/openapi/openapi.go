// Package openapi contains the contract: the OpenAPI 3.1 document that the service serves, and validators compiled from it.
//
// The document is written in src/*.yaml, and gen assembles it into openapi.json. The package may not depend on an HTTP
// framework or on storage, and may not implement business rules: the services check what JSON Schema cannot express, such as
// a stale request.
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

//go:generate go run ../../tools/openapi
//go:generate go run ../../tools/gosdk
//go:generate go run ../../tools/kit

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
		panic(fmt.Sprintf("openapi: the embedded document is not JSON: %v", err)) // a broken build, which tests catch
	}
	var head struct {
		Info struct{ Version string }
	}
	if err := json.Unmarshal(b.Bytes(), &head); err != nil {
		panic(fmt.Sprintf("openapi: the embedded document has no info: %v", err))
	}
	return served{body: b.Bytes(), etag: tagOf(b.Bytes()), version: head.Info.Version}
})

// tagOf returns the quoted entity tag of a body, derived from its SHA-256.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"sha256-` + hex.EncodeToString(sum[:8]) + `"`
}

// Document returns the contract as minified JSON. The caller must not change it.
func Document() []byte { return document().body }

// ETag returns the quoted entity tag of Document.
func ETag() string { return document().etag }

// Version returns the contract's version, info.version of the document.
func Version() string { return document().version }
