package main

import (
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/keys/transit"
)

// signing configures where signing keys are.
func (s *settings) signing() setting {
	return setting{"signing-keys", "COUNTERSIGN_SIGNING_KEYS", software.Name,
		"backends of signing keys, separated by spaces: software or vault+transit://host:port/mount; the first creates keys, the others sign with theirs", signers(&s.signers)}
}

// signers parses the backends. A backend other than software is guarded.
func signers(into *[]keys.Signer) parser {
	return func(value string) error {
		*into = nil
		for _, field := range strings.Fields(value) {
			if field == software.Name {
				*into = append(*into, software.Signer{})
				continue
			}
			u, err := url.Parse(field)
			if err != nil || u.Scheme != transit.Scheme {
				return usage("want %s or %s://host:port/mount", software.Name, transit.Scheme)
			}
			signer, err := transit.Open(u)
			if err != nil {
				return err
			}
			*into = append(*into, keys.NewGuard(signer))
		}
		return nil
	}
}
