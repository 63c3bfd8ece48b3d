package main

import (
	"crypto/tls"
	"net"
	"net/url"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
)

// codecSettings configure the port at which the Temporal UI has histories decrypted for auditors. Without an address there is none.
type codecSettings struct {
	listen, cert, certKey, origin string
}

func (c *codecSettings) table() []setting {
	return []setting{
		{"codec-listen", "COUNTERSIGN_CODEC_LISTEN", "", "host:port of the codec endpoint for auditors in the Temporal UI, such as :8444; empty for none", text(&c.listen)},
		{"codec-cert", "COUNTERSIGN_CODEC_CERT", "", "file with the certificate of the codec endpoint; read again for each connection", text(&c.cert)},
		{"codec-cert-key", "COUNTERSIGN_CODEC_CERT_KEY", "", "file with the key of that certificate", text(&c.certKey)},
		{"codec-origin", "COUNTERSIGN_CODEC_ORIGIN", "", "origin of the Temporal UI that may call the codec endpoint, such as https://temporal.example", text(&c.origin)},
	}
}

// check returns an error if the settings contradict each other or the certificate cannot be used.
func (c *codecSettings) check() error {
	if c.listen == "" {
		if c.cert != "" || c.certKey != "" || c.origin != "" {
			return usage("COUNTERSIGN_CODEC_LISTEN is not set, but other settings of the codec endpoint are: want host:port, such as :8444")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(c.listen)
	if err != nil {
		return usage("COUNTERSIGN_CODEC_LISTEN: %v: want host:port, such as :8444", err)
	}
	if u, err := url.Parse(c.origin); err != nil || u.Host == "" || u.Scheme+"://"+u.Host != c.origin || !secureOrLocal(u) {
		return usage("COUNTERSIGN_CODEC_ORIGIN %q is not the origin of the Temporal UI: want https and a host without a path, such as https://temporal.example; http on localhost only", c.origin)
	}
	if c.cert == "" && c.certKey == "" {
		if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
		return usage("COUNTERSIGN_CODEC_CERT and COUNTERSIGN_CODEC_CERT_KEY are not set: decrypted histories leave this machine with TLS only. Set both, or listen on 127.0.0.1")
	}
	if _, err := tls.LoadX509KeyPair(c.cert, c.certKey); err != nil {
		return usage("COUNTERSIGN_CODEC_CERT and COUNTERSIGN_CODEC_CERT_KEY: %v", err)
	}
	return nil
}

func secureOrLocal(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1")
}

// start starts the endpoint unless it is off.
func (c *codecSettings) start(p *wiring.Process, failed chan<- error) (stop func(), err error) {
	if c.listen == "" {
		return func() {}, nil
	}
	l, err := listen("COUNTERSIGN_CODEC_LISTEN", c.listen)
	if err != nil {
		return nil, err
	}
	o := wiring.CodecOptions{Origin: c.origin}
	if c.cert != "" {
		// Read for each connection, so that a renewed certificate needs no restart. Auditors make few connections.
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.cert, c.certKey)
			return &pair, err
		}}
	}
	return p.StartCodec(o, failed, l), nil
}
