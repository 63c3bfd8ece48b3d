package principal_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/request"
)

func TestHeaderOfAProxy(t *testing.T) {
	t.Parallel()
	bySecret := &principal.Header{Name: "X-User", From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Secret: []byte("s3cret-of-the-proxy")}
	byName := &principal.Header{Name: "X-User", From: bySecret.From, Certificates: []string{"proxy.internal"}}
	inside, outside := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("192.0.2.1")
	for name, c := range map[string]struct {
		by   *principal.Header
		peer principal.Peer
		h    http.Header
		ok   bool
	}{
		"secret":            {bySecret, principal.Peer{IP: inside}, http.Header{"X-User": {"alice"}, request.SecretHeader: {"s3cret-of-the-proxy"}}, true},
		"mapped address":    {bySecret, principal.Peer{IP: netip.MustParseAddr("::ffff:10.1.2.3")}, http.Header{"X-User": {"alice"}, request.SecretHeader: {"s3cret-of-the-proxy"}}, true},
		"wrong secret":      {bySecret, principal.Peer{IP: inside}, http.Header{"X-User": {"alice"}, request.SecretHeader: {"s3cret"}}, false},
		"no secret":         {bySecret, principal.Peer{IP: inside}, http.Header{"X-User": {"alice"}}, false},
		"other network":     {bySecret, principal.Peer{IP: outside}, http.Header{"X-User": {"alice"}, request.SecretHeader: {"s3cret-of-the-proxy"}}, false},
		"no user":           {bySecret, principal.Peer{IP: inside}, http.Header{request.SecretHeader: {"s3cret-of-the-proxy"}}, false},
		"two users":         {bySecret, principal.Peer{IP: inside}, http.Header{"X-User": {"alice", "bob"}, request.SecretHeader: {"s3cret-of-the-proxy"}}, false},
		"certificate":       {byName, principal.Peer{IP: inside, Names: []string{"proxy.internal"}}, http.Header{"X-User": {"alice"}}, true},
		"other certificate": {byName, principal.Peer{IP: inside, Names: []string{"laptop.internal"}}, http.Header{"X-User": {"alice"}}, false},
		"no certificate":    {byName, principal.Peer{IP: inside}, http.Header{"X-User": {"alice"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := c.by.Of(&request.Request{Header: c.h}, c.peer)
			if !c.ok {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "alice", p.Subject)
		})
	}
}
