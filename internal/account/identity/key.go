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

// kind is what a key's prefix says: what it is and which environment it belongs to.
type keyKind struct {
	client      bool // a client token
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

const prefixLength = len("sk_test_")

// newKey makes a key: prefix, 32 random base62 characters (190 bits), 6 characters of checksum, by which a scanner or a
// typing mistake is told apart without asking the database.
func newKey(prefix string) string {
	var b strings.Builder
	b.WriteString(prefix)
	limit := big.NewInt(int64(len(base62)))
	for range secretLength {
		n, err := rand.Int(rand.Reader, limit)
		if err != nil {
			panic("identity: the system gives no randomness: " + err.Error())
		}
		b.WriteByte(base62[n.Int64()])
	}
	b.WriteString(checksum(b.String()))
	return b.String()
}

// checksum is CRC-32 (IEEE) in six base62 digits.
func checksum(s string) string {
	n := crc32.ChecksumIEEE([]byte(s))
	var out [checksumLength]byte
	for i := checksumLength - 1; i >= 0; i-- {
		out[i] = base62[n%62]
		n /= 62
	}
	return string(out[:])
}

// parseKey says what a key claims to be; false where its form or checksum is wrong.
func parseKey(key string) (keyKind, bool) {
	if len(key) != prefixLength+secretLength+checksumLength {
		return keyKind{}, false
	}
	k, ok := prefixes[key[:prefixLength]]
	body := key[:prefixLength+secretLength]
	return k, ok && checksum(body) == key[len(body):]
}

func secretPrefix(scope models.Scope, env models.EnvironmentKind) string {
	kind := "sk_"
	if scope == models.ScopeClient {
		kind = "pk_"
	}
	return kind + env.Mode() + "_"
}

// preview is what may be shown of a key: its prefix and its last four characters.
func preview(key string) string { return key[:prefixLength] + "..." + key[len(key)-4:] }
