package main

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// The codec endpoint is off without an address, and leaves this machine with TLS only.
func TestCodecSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		says string
	}{
		"off":            {},
		"this machine":   {env: map[string]string{"LISTEN": "127.0.0.1:8444", "ORIGIN": "http://localhost:8233"}},
		"no address":     {env: map[string]string{"ORIGIN": "https://temporal.example"}, says: "COUNTERSIGN_CODEC_LISTEN is not set"},
		"no port":        {env: map[string]string{"LISTEN": "codec.example", "ORIGIN": "https://temporal.example"}, says: "COUNTERSIGN_CODEC_LISTEN"},
		"no origin":      {env: map[string]string{"LISTEN": "127.0.0.1:8444"}, says: "COUNTERSIGN_CODEC_ORIGIN"},
		"any origin":     {env: map[string]string{"LISTEN": "127.0.0.1:8444", "ORIGIN": "*"}, says: "COUNTERSIGN_CODEC_ORIGIN"},
		"origin's path":  {env: map[string]string{"LISTEN": "127.0.0.1:8444", "ORIGIN": "https://temporal.example/"}, says: "without a path"},
		"in the clear":   {env: map[string]string{"LISTEN": "127.0.0.1:8444", "ORIGIN": "http://temporal.example"}, says: "want https"},
		"no certificate": {env: map[string]string{"LISTEN": ":8444", "ORIGIN": "https://temporal.example"}, says: "with TLS only"},
		"no such file":   {env: map[string]string{"LISTEN": ":8444", "ORIGIN": "https://temporal.example", "CERT": "/no/such/file", "CERT_KEY": "/no/such/file"}, says: "COUNTERSIGN_CODEC_CERT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{}
			for k, v := range c.env {
				env["COUNTERSIGN_CODEC_"+k] = v
			}
			var s settings
			require.NoError(t, fill(pflag.NewFlagSet("test", pflag.ContinueOnError), s.codec.table(), environment(env)))
			err := s.codec.check()
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}
