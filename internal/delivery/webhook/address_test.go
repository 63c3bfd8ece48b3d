package webhook

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// Internal addresses in the forms that attackers try.
var inside = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.0.0.2", "127.1.1.1", "127.255.255.255",
	"169.254.0.1", "169.254.169.254", "169.254.170.2", "169.254.169.123", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.8", "192.0.0.170",
	"192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "192.175.48.1", "198.18.0.1", "198.19.255.255",
	"198.51.100.7", "203.0.113.9", "224.0.0.1", "224.0.0.251", "239.255.255.250", "240.0.0.1", "254.1.1.1", "255.255.255.255",
	"::", "::1", "::127.0.0.1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:0", "::ffff:a9fe:a9fe",
	"::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b::8.8.8.8", "64:ff9b:1::a00:1", "64:ff9b:1::1", "100::1", "100:0:0:1::1",
	"2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1", "2001:1::1", "2001:db8::1",
	"2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:808:808::1", "2620:4f:8000::1", "3fff::1", "3fff:fff::1", "5f00::1",
	"fc00::1", "fd00::1", "fd00:ec2::254", "fdff:ffff::1", "fe80::1", "febf::1", "fe80::1%eth0", "fec0::1", "feff::1", "ff02::1", "ff05::1:3", "ff0e::1",
	"4000::1", "2606:4700:4700::1111%eth0",
}

var outside = []string{
	"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "169.253.255.255",
	"172.15.255.255", "172.32.0.1", "192.0.1.1", "192.167.255.255", "192.169.0.1", "198.17.255.255", "198.20.0.1", "203.0.114.1", "223.255.255.255",
	"2001:200::1", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "2003::1", "::ffff:8.8.8.8",
}

func TestPublicRejectsInternalAddresses(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(inside), 60)
	for _, s := range inside {
		a := netip.MustParseAddr(s)
		require.False(t, Public(a), s)
		require.False(t, Policy{}.permits(netip.AddrPortFrom(a, 443)), s)
		require.ErrorIs(t, Policy{}.control("tcp", netip.AddrPortFrom(a, 443).String(), nil), errRefused, s)
		if a.Unmap().IsLoopback() {
			continue
		}
		require.False(t, Policy{AllowLoopback: true}.permits(netip.AddrPortFrom(a, 443)), "%s: loopback alone is allowed", s)
	}
	require.False(t, Public(netip.Addr{}))
}

func TestPublicAcceptsPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, s := range outside {
		a := netip.MustParseAddr(s)
		require.True(t, Public(a), s)
		require.NoError(t, Policy{}.control("tcp", netip.AddrPortFrom(a, 443).String(), nil), s)
	}
}

func TestPolicyPermitsPorts(t *testing.T) {
	t.Parallel()
	public := netip.MustParseAddr("8.8.8.8")
	for port, want := range map[uint16]bool{443: true, 8443: true, 80: false, 22: false, 25: false, 6379: false, 0: false} {
		require.Equal(t, want, Policy{}.permits(netip.AddrPortFrom(public, port)), "%d", port)
	}
	require.True(t, Policy{Ports: []uint16{9443}}.permits(netip.AddrPortFrom(public, 9443)))
	require.False(t, Policy{Ports: []uint16{9443}}.permits(netip.AddrPortFrom(public, 443)))
	loopback := netip.MustParseAddrPort("127.0.0.1:3000")
	require.True(t, Policy{AllowLoopback: true}.permits(loopback))
	own := Policy{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	require.True(t, own.permits(netip.MustParseAddrPort("10.1.2.3:443")))
	require.False(t, own.permits(netip.MustParseAddrPort("10.2.2.3:443")))
	require.ErrorIs(t, Policy{}.control("tcp", "not an address", nil), errRefused)
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		"https://hooks.example.com/x", "https://hooks.example.com:8443/", "https://hooks.example.com", "https://8.8.8.8/x",
		"https://[2606:4700:4700::1111]/", "https://xn--bcher-kva.example/", "https://a.0x.example/", "https://hooks.example.com/?a=b",
	} {
		require.Empty(t, Policy{}.CheckURL(u), u)
	}
	for _, u := range []string{
		"", "hooks.example.com", "/x", "https://", "https:///x", "http://hooks.example.com/", "ftp://hooks.example.com/", "file:///etc/passwd",
		"gopher://x/", "https:hooks.example.com", "https://user@hooks.example.com/", "https://u:p@hooks.example.com/", "https://hooks.example.com/#x",
		"https://hooks.example.com:80/", "https://hooks.example.com:22/", "https://hooks.example.com:0/", "https://hooks.example.com:99999/",
		"https://hooks.example.com:x/", "https://localhost/", "https://LOCALHOST./", "https://api.localhost/", "https://127.0.0.1/", "https://[::1]/",
		"https://[::ffff:127.0.0.1]/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://127.1/", "https://0x7f.1/",
		"https://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "https://[fe80::1%25eth0]/", "https://[64:ff9b::7f00:1]/", "https://1.2.3.4.5/",
		"https://a.b.0x/", "http://localhost:3000/", "http://127.0.0.1:3000/", "https://hooks.example.com/%zz",
		"https://\u212aooks.example.com/", "https://%E2%84%AAooks.example.com/", "https://h\u043eoks.example.com/", "https://hooks.example.com/\u00e9", "https://hooks.example.com/ a",
	} {
		require.NotEmpty(t, Policy{}.CheckURL(u), u)
	}
	dev := Policy{AllowLoopback: true}
	for u, ok := range map[string]bool{
		"http://localhost:3000/": true, "http://127.0.0.1:3000/x": true, "http://[::1]:3000/": true, "https://localhost:9999/": true,
		"http://hooks.example.com/": false, "http://10.0.0.1/": false, "https://10.0.0.1/": false, "http://0x7f.1/": false,
	} {
		require.Equal(t, ok, dev.CheckURL(u) == "", u)
	}
}

func FuzzCheckURL(f *testing.F) {
	f.Add("https://hooks.example.com/x")
	f.Add("http://[::ffff:127.0.0.1]:80/")
	f.Fuzz(func(t *testing.T, u string) {
		if (Policy{}).CheckURL(u) != "" {
			return
		}
		require.Regexp(t, `(?i)^https://`, u)
	})
}
