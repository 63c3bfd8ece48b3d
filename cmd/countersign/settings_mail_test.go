package main

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// E-mail is off without an address, encrypted by default, and settings that cannot work are refused before the process starts.
func TestMailSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		says string
		off  bool
	}{
		"off":          {off: true},
		"encrypted":    {env: map[string]string{"ADDRESS": "smtp.example.com:587", "FROM": "Countersign <a@example.com>", "USERNAME": "a", "PASSWORD": "b"}},
		"local":        {env: map[string]string{"ADDRESS": "localhost:1025", "FROM": "a@example.com", "TLS": "none"}},
		"no address":   {env: map[string]string{"FROM": "a@example.com"}, says: "COUNTERSIGN_SMTP_ADDRESS is not set"},
		"no port":      {env: map[string]string{"ADDRESS": "smtp.example.com", "FROM": "a@example.com"}, says: "missing port"},
		"no sender":    {env: map[string]string{"ADDRESS": "smtp.example.com:587"}, says: "COUNTERSIGN_SMTP_FROM"},
		"no password":  {env: map[string]string{"ADDRESS": "smtp.example.com:587", "FROM": "a@example.com", "USERNAME": "a"}, says: "set both or neither"},
		"in the clear": {env: map[string]string{"ADDRESS": "localhost:25", "FROM": "a@example.com", "TLS": "none", "USERNAME": "a", "PASSWORD": "secret-1"}, says: "a password requires starttls or tls"},
		"no such mode": {env: map[string]string{"TLS": "opportunistic"}, says: "want one of [starttls tls none]"},
		"no such file": {env: map[string]string{"ADDRESS": "smtp.example.com:587", "FROM": "a@example.com", "CA": "/no/such/file"}, says: "COUNTERSIGN_SMTP_CA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{}
			for k, v := range c.env {
				env["COUNTERSIGN_SMTP_"+k] = v
			}
			var s settings
			err := fill(pflag.NewFlagSet("test", pflag.ContinueOnError), s.mail.table(), environment(env))
			if err == nil {
				mailer, fault := s.mail.mailer("https://countersign.example")
				err = fault
				require.Equal(t, c.off || c.says != "", mailer == nil)
			}
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "secret-1")
		})
	}
}
