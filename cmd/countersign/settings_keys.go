package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
	"github.com/countersign-dev/countersign/internal/platform/keys"
	"github.com/countersign-dev/countersign/internal/platform/keys/software"
	"github.com/countersign-dev/countersign/internal/platform/keys/transit"
)

// signing configures where signing keys are.
func (s *settings) signing() setting {
	return setting{"signing-keys", "COUNTERSIGN_SIGNING_KEYS", software.Name,
		"backends of signing keys, separated by spaces: software or vault+transit://host:port/mount; the first creates keys, the others sign with theirs", signers(&s.signers)}
}

// root configures the key that the master keys are wrapped with.
func (s *settings) root() setting {
	return setting{"root-key", "COUNTERSIGN_ROOT_KEY", "",
		"key that wrapped the master keys, vault+transit://host:port/mount/key; empty if they are not wrapped", rootKey(&s.rootKey)}
}

func rootKey(into *keys.RootKey) parser {
	return func(value string) error {
		if *into = nil; value == "" {
			return nil
		}
		u, err := url.Parse(value)
		if err != nil || u.Scheme != transit.Scheme {
			return usage("want %s://host:port/mount/key", transit.Scheme)
		}
		root, err := transit.OpenRoot(u)
		if err != nil {
			return err
		}
		*into = root
		return nil
	}
}

// rootKeyName returns the name of the root key, or an empty string without one.
func (s *settings) rootKeyName() string {
	if s.rootKey == nil {
		return ""
	}
	return s.rootKey.Name()
}

// keyring parses the master keys, and has the root key unwrap them if there is one.
func (s *settings) keyring(ctx context.Context) (*keyring.Keyring, error) {
	if s.masterKey == "" {
		return nil, usage("COUNTERSIGN_MASTER_KEY is not set: want the key that sealed the database; for a new database create one with countersign key generate, and store it safely")
	}
	ring, err := keyring.Parse(s.masterKey)
	if s.rootKey != nil {
		ring, err = keyring.ParseWrapped(s.masterKey, func(wrapped string) ([]byte, error) { return s.rootKey.Unwrap(ctx, wrapped) })
	}
	if err != nil {
		return nil, usage("COUNTERSIGN_MASTER_KEY: %v", err)
	}
	return ring, nil
}

// wrapped returns the setting of master keys that the root key wraps.
func (s *settings) wrapped(ctx context.Context, ring *keyring.Keyring) (string, error) {
	text, err := ring.Wrapped(func(master []byte) (string, error) { return s.rootKey.Wrap(ctx, master) })
	if err != nil {
		return "", fmt.Errorf("COUNTERSIGN_ROOT_KEY: %w", err)
	}
	return text, nil
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
