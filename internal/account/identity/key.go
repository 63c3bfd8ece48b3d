package identity

import (
	"crypto/rand"
	"hash/crc32"
	"math/big"
	"strings"

	"github.com/countersign-dev/countersign/models"
)

const (
	base62         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretLength   = 32
	checksumLength = 6
)

// keyKind is the meaning of a key's prefix: the type of the key and the kind of its environment.
type keyKind struct {
	client      bool // a client token (ct_), bound to one subject and origin
	publishable bool
	environment models.EnvironmentKind
}

var prefixes = map[string]keyKind{
	"sk_test_": {environment: models.Sandbox},
	"sk_live_": {environment: models.Live},
	"pk_test_": {environment: models.Sandbox, publishable: true},
	"pk_live_": {environment: models.Live, publishable: true},
	"ct_test_": {environment: models.Sandbox, client: true},
	"ct_live_": {environment: models.Live, client: true},
}

// prefixLength is the same for every prefix.
const prefixLength = len("sk_test_")

// newKey generates a key: the prefix, 32 random base62 characters (190 bits of entropy) and a checksum of 6 characters. The
// checksum lets the service reject mistyped keys, and secret scanners recognise real ones, without a database query.
func newKey(prefix string) string {
	var b strings.Builder
	b.WriteString(prefix)
	limit := big.NewInt(int64(len(base62)))
	for range secretLength {
		n, err := rand.Int(rand.Reader, limit)
		if err != nil {
			panic("identity: the system's source of randomness failed: " + err.Error())
		}
		b.WriteByte(base62[n.Int64()])
	}
	sum := checksum([]byte(b.String()))
	b.Write(sum[:])
	return b.String()
}

// checksum returns the CRC-32 (IEEE) of s in six base62 digits. It detects mistakes and is no protection: the MAC is.
func checksum(s []byte) (out [checksumLength]byte) {
	n := crc32.ChecksumIEEE(s)
	for i := checksumLength - 1; i >= 0; i-- {
		out[i] = base62[n%62]
		n /= 62
	}
	return out
}

// parseKey returns what the key's prefix claims; false if its length, prefix or checksum is wrong. It does not check that
// the key was ever issued.
func parseKey(key []byte) (keyKind, bool) {
	if len(key) != prefixLength+secretLength+checksumLength {
		return keyKind{}, false
	}
	k, ok := prefixes[string(key[:prefixLength])]
	body := key[:prefixLength+secretLength]
	return k, ok && checksum(body) == [checksumLength]byte(key[len(body):])
}

// secretPrefix returns the prefix of API keys with the scope in an environment of the kind.
func secretPrefix(scope models.Scope, env models.EnvironmentKind) string {
	kind := "sk_"
	if scope == models.ScopeClient {
		kind = "pk_"
	}
	return kind + env.Mode() + "_"
}

// preview returns the part of a key that lists and pages may show: its prefix and its last four characters.
func preview(key string) string { return key[:prefixLength] + "..." + key[len(key)-4:] }
