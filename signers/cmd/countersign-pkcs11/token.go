//go:build cgo

package main

import (
	"context"
	"crypto"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ThalesGroup/crypto11"
	"github.com/miekg/pkcs11"

	"github.com/countersign-dev/countersign/signers"
)

// token is a PKCS#11 token. It implements signers.Device. The label of an object is the name of its key.
type token struct {
	config  crypto11.Config // without the PIN
	pinFile string          // read at each opening
	slots   chan struct{}   // operations at a time: half as many as sessions, of which some take two

	mu      sync.RWMutex
	refused string            // a PIN that the token refused: it locks after a few
	open    *crypto11.Context // nil: to be opened by the next use
	signing sync.Map          // crypto11.Signer by name: a search takes longer than a signature
}

// use calls f with the open token, unless its caller has left before it has a slot. If f fails, the next use opens the token again: sessions
// and handles of a token that was removed or restarted are worthless.
func (t *token) use(ctx context.Context, f func(*crypto11.Context) error) error {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.RLock()
	for t.open == nil {
		t.mu.RUnlock()
		if err := t.reopen(); err != nil {
			return err
		}
		t.mu.RLock()
	}
	used := t.open
	err := f(used)
	t.mu.RUnlock()
	if err != nil && !errors.Is(err, signers.ErrNoKey) && !errors.Is(err, signers.ErrInvalid) {
		t.drop(used)
	}
	return err
}

func (t *token) reopen() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != nil {
		return nil
	}
	config := t.config
	if config.Pin, err = signers.Secret(t.pinFile); err != nil {
		return fmt.Errorf("-pin-file: %w", err)
	}
	if config.Pin == t.refused {
		return errRefused
	}
	t.open, err = crypto11.Configure(&config)
	if refusal := pkcs11.Error(0); errors.As(err, &refusal) && slices.Contains(pinRefusals, uint(refusal)) {
		t.refused = config.Pin
	}
	return err
}

// errRefused is returned instead of trying a refused PIN again.
var errRefused = errors.New("the token refused the PIN of -pin-file, which is not tried again: write the right one into the file, and unlock the token if it is locked")

// pinRefusals are the errors by which a token refuses a PIN.
var pinRefusals = []uint{pkcs11.CKR_PIN_INCORRECT, pkcs11.CKR_PIN_INVALID, pkcs11.CKR_PIN_LEN_RANGE, pkcs11.CKR_PIN_EXPIRED, pkcs11.CKR_PIN_LOCKED}

func (t *token) drop(used *crypto11.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == used {
		_ = used.Close()
		t.open = nil
		t.signing.Clear()
	}
}

// Create implements signers.Device. A token with many keys is slow to search, so it is searched once. It makes the key sensitive and not extractable.
func (t *token) Create(ctx context.Context, name, kind string) error {
	return t.use(ctx, func(c *crypto11.Context) error {
		if kind == signers.TypeRoot {
			if _, err := t.root(c, name); !errors.Is(err, signers.ErrNoKey) {
				return err
			}
			_, err := c.GenerateSecretKeyWithLabel([]byte(name), []byte(name), 256, crypto11.CipherAES)
			return err
		}
		if _, err := t.signer(c, name); !errors.Is(err, signers.ErrNoKey) {
			return err
		}
		pair, err := c.GenerateECDSAKeyPairWithLabel([]byte(name), []byte(name), elliptic.P256())
		if err == nil {
			t.signing.Store(name, pair)
		}
		return err
	})
}

// Find implements signers.Device.
func (t *token) Find(ctx context.Context, name string) (key signers.Key, err error) {
	err = t.use(ctx, func(c *crypto11.Context) error {
		var object any
		signer, err := t.signer(c, name)
		switch {
		case err == nil:
			object, key.Type, key.Public = signer, signers.TypeSigning, signer.Public().(*ecdsa.PublicKey)
		case errors.Is(err, signers.ErrNoKey):
			if object, err = t.root(c, name); err != nil {
				return err
			}
			key.Type = signers.TypeRoot
		default:
			return err
		}
		extractable, err := c.GetAttribute(object, crypto11.CkaExtractable)
		if err != nil {
			return err
		}
		key.Exportable = len(extractable.Value) != 1 || extractable.Value[0] != 0
		return nil
	})
	return key, err
}

// signer returns the signing key of a name.
func (t *token) signer(c *crypto11.Context, name string) (crypto11.Signer, error) {
	if known, ok := t.signing.Load(name); ok {
		return known.(crypto11.Signer), nil
	}
	pairs, err := c.FindKeyPairs(nil, []byte(name))
	if err != nil {
		return nil, err
	}
	for _, pair := range pairs {
		if public, ok := pair.Public().(*ecdsa.PublicKey); ok && public.Curve == elliptic.P256() {
			t.signing.Store(name, pair)
			return pair, nil
		}
	}
	return nil, signers.ErrNoKey
}

// root returns the key of a name that encrypts.
func (t *token) root(c *crypto11.Context, name string) (*crypto11.SecretKey, error) {
	found, err := c.FindKeys(nil, []byte(name))
	if err == nil && len(found) == 0 {
		err = signers.ErrNoKey
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Sign implements signers.Device.
func (t *token) Sign(ctx context.Context, name string, digest []byte) (signature []byte, err error) {
	err = t.use(ctx, func(c *crypto11.Context) error {
		signer, err := t.signer(c, name)
		if err != nil {
			return err
		}
		signature, err = signer.Sign(nil, digest, crypto.SHA256)
		return err
	})
	return signature, err
}

// Encrypt implements signers.Device. The result is the nonce, then the ciphertext.
func (t *token) Encrypt(ctx context.Context, name string, plaintext []byte) (out []byte, err error) {
	err = t.withRoot(ctx, name, func(aead cipher.AEAD) (err error) {
		defer func() { // cipher.AEAD has no error, so the library panics
			if failed := recover(); failed != nil {
				err = fmt.Errorf("encrypt: %v", failed)
			}
		}()
		nonce := make([]byte, aead.NonceSize())
		_, _ = rand.Read(nonce) // never fails: it ends the process instead
		out = aead.Seal(nonce, nonce, plaintext, nil)
		return nil
	})
	return out, err
}

// Decrypt implements signers.Device. A token does not say whether a ciphertext is wrong or the token failed: it failed if it cannot decrypt
// what it has just encrypted. A wrong ciphertext must not close the token for others.
func (t *token) Decrypt(ctx context.Context, name string, ciphertext []byte) (out []byte, err error) {
	err = t.withRoot(ctx, name, func(aead cipher.AEAD) (err error) {
		if len(ciphertext) < aead.NonceSize() {
			return signers.ErrInvalid
		}
		if out, err = aead.Open(nil, ciphertext[:aead.NonceSize()], ciphertext[aead.NonceSize():], nil); err != nil && works(aead) {
			return signers.ErrInvalid
		}
		return err
	})
	return out, err
}

// works reports whether a key decrypts what it encrypts.
func works(aead cipher.AEAD) (ok bool) {
	defer func() { // cipher.AEAD has no error, so the library panics
		if recover() != nil {
			ok = false
		}
	}()
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	_, err := aead.Open(nil, nonce, aead.Seal(nil, nonce, []byte("probe"), nil), nil)
	return err == nil
}

func (t *token) withRoot(ctx context.Context, name string, f func(cipher.AEAD) error) error {
	return t.use(ctx, func(c *crypto11.Context) error {
		root, err := t.root(c, name)
		if err != nil {
			return err
		}
		aead, err := root.NewGCM()
		if err != nil {
			return err
		}
		return f(aead)
	})
}
