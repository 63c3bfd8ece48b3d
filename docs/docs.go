// Package docs embeds the guides of this folder, which the service shows under /docs.
package docs

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
)

// Files contains the guides.
//
//go:embed *.md
var Files embed.FS

// Verifier is a page that verifies an audit export without an installation: a file to download.
//
//go:embed verify-export.html
var Verifier []byte

// VerifierName is the name of the file.
const VerifierName = "verify-export.html"

// VerifierDigest is its SHA-256, in hexadecimal digits.
func VerifierDigest() string {
	sum := sha256.Sum256(Verifier)
	return hex.EncodeToString(sum[:])
}
