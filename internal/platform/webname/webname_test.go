package webname_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/webname"
)

var label63, label64 = strings.Repeat("a", 63), strings.Repeat("a", 64)

func TestRPIDIsCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"bank.example": "bank.example", "Bank.EXAMPLE": "bank.example", "bücher.example": "xn--bcher-kva.example",
		"BÜCHER.example": "xn--bcher-kva.example", "xn--bcher-kva.example": "xn--bcher-kva.example", "straße.example": "xn--strae-oqa.example",
		"bank。example": "bank.example", "ｂａｎｋ.example": "bank.example", "localhost": "localhost", "app.localhost": "app.localhost",
		"mine.github.io": "mine.github.io", "a--b.example": "a--b.example", label63 + ".example": label63 + ".example", "1bank.example": "1bank.example",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := webname.RPID(text)
			require.NoError(t, err)
			require.Equal(t, want, got)
			again, err := webname.RPID(got)
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
}

func TestRPIDRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "", "a dot at the end": "bank.example.", "a dot at the start": ".bank.example", "two dots": "bank..example", "a dot": ".",
		"an IPv4 address": "1.2.3.4", "a short IPv4 address": "127.1", "a hexadecimal one": "0x7f.1", "a number": "2130706433", "an IPv6 address": "::1",
		"brackets": "[::1]", "a hyphen at the start": "-bank.example", "a hyphen at the end": "bank-.example", "a label of 64": label64 + ".example",
		"254 characters": strings.Repeat("abc.", 62) + "example", "an underscore": "my_bank.example", "a space": "bank .example", "a port": "bank.example:443",
		"a scheme": "https://bank.example", "a path": "bank.example/x", "a user": "a@bank.example", "a wildcard": "*.bank.example", "a NUL": "bank\x00.example",
		"a line break": "bank.example\n", "punycode that is none": "xn--a.example", "a soft joiner": "ba\u200dnk.example", "not UTF-8": "b\xff.example",
		"a public suffix": "com", "a public suffix of two labels": "co.uk", "a private public suffix": "github.io", "a label alone": "intranet",
		"a public suffix in Unicode": "公司.cn", "a wildcard rule": "foo.ck",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := webname.RPID(text)
			require.Error(t, err, got)
		})
	}
}

func TestOriginIsCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://bank.example": "https://bank.example", "HTTPS://BANK.example": "https://bank.example", "https://bank.example:443": "https://bank.example",
		"http://localhost:80": "http://localhost", "http://bank.example:443": "http://bank.example:443", "https://bank.example:0443": "https://bank.example",
		"https://bank.example:8443": "https://bank.example:8443", "https://bank.example:65535": "https://bank.example:65535", "https://bank.example:": "https://bank.example",
		"https://bücher.example:443": "https://xn--bcher-kva.example", "https://b%C3%BCcher.example": "https://xn--bcher-kva.example",
		"http://127.0.0.1:8080": "http://127.0.0.1:8080", "https://[::1]": "https://[::1]", "https://[0:0::1]:443": "https://[::1]",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := webname.Origin(text)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestOriginRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "", "port 65536": "https://bank.example:65536", "port 0": "https://bank.example:0", "a negative port": "https://bank.example:-1",
		"a port that is none": "https://bank.example:a", "a path": "https://bank.example/", "a query": "https://bank.example?", "a fragment": "https://bank.example#",
		"a user": "https://a@bank.example", "another scheme": "ftp://bank.example", "a script": "javascript:alert(1)", "no scheme": "bank.example",
		"no host": "https://", "no host but a port": "https://:443", "null": "null", "a wildcard": "https://*.bank.example", "a header": "https://bank.example; script-src *",
		"a dot at the end": "https://bank.example.", "a short IPv4 address": "https://127.1", "an IPv4 address with zeros": "https://127.0.0.01",
		"a zone": "https://[fe80::1%25eth0]", "IPv4 in IPv6": "https://[::ffff:1.2.3.4]", "a backslash": `https:\\bank.example`, "two": "https://a.example,https://b.example",
		"a space": " https://bank.example",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := webname.Origin(text)
			require.Error(t, err, got)
		})
	}
}

// Whatever is accepted is stable, and the library that uses it accepts it too.
func FuzzNames(f *testing.F) {
	for _, text := range []string{
		"bücher.example", "bank.example.", "1.2.3.4", "-bank.example", label64 + ".example", "co.uk", "https://bank.example:65536", "https://Bank.example:443",
		"https://[::1]:1", "ｂａｎｋ。example", "localhost", "xn--a.example",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := webname.RPID(text); err == nil {
			again, err := webname.RPID(id)
			require.NoError(t, err, "%q", id)
			require.Equal(t, id, again)
			_, err = webauthn.New(&webauthn.Config{RPID: id, RPDisplayName: "x", RPOrigins: []string{"https://" + id}})
			require.NoError(t, err, "%q", id)
		}
		if origin, err := webname.Origin(text); err == nil {
			again, err := webname.Origin(origin)
			require.NoError(t, err, "%q", origin)
			require.Equal(t, origin, again)
			u, err := url.Parse(origin)
			require.NoError(t, err)
			require.Equal(t, origin, u.Scheme+"://"+u.Host)
			_, err = webauthn.New(&webauthn.Config{RPID: "bank.example", RPDisplayName: "x", RPOrigins: []string{origin}})
			require.NoError(t, err, "%q", origin)
		}
	})
}
