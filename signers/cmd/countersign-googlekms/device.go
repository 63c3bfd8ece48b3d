package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/googleapi"

	"github.com/countersign-dev/countersign/signers"
)

// device is a key ring of Google Cloud KMS. It implements signers.Device.
type device struct {
	keys        *cloudkms.ProjectsLocationsKeyRingsCryptoKeysService
	ring, level string
}

// What KMS calls the two types of keys.
const (
	purposeSign    = "ASYMMETRIC_SIGN"
	purposeEncrypt = "ENCRYPT_DECRYPT"
	algorithmSign  = "EC_SIGN_P256_SHA256"
	algorithmRoot  = "GOOGLE_SYMMETRIC_ENCRYPTION"
)

func (d device) name(key string) string { return d.ring + "/cryptoKeys/" + key }

// version is the name of the only version of a signing key that is used: a proof names the version that signed it.
func (d device) version(key string) string { return d.name(key) + "/cryptoKeyVersions/1" }

// problem returns the error of a device for one of the SDK.
func problem(err error) error {
	var refused *googleapi.Error
	if errors.As(err, &refused) {
		switch refused.Code {
		case http.StatusNotFound:
			return signers.ErrNoKey
		case http.StatusBadRequest:
			return fmt.Errorf("%w: %s", signers.ErrInvalid, refused.Message)
		}
	}
	return err
}

// generating is how often Create looks for the version that KMS makes in the background.
const generating = 100 * time.Millisecond

// Create implements signers.Device. It returns when KMS has made the version.
func (d device) Create(ctx context.Context, name, kind string) error {
	if _, err := d.Find(ctx, name); !errors.Is(err, signers.ErrNoKey) {
		return err
	}
	key := &cloudkms.CryptoKey{Purpose: purposeSign, VersionTemplate: &cloudkms.CryptoKeyVersionTemplate{Algorithm: algorithmSign, ProtectionLevel: d.level}}
	if kind == signers.TypeRoot {
		key.Purpose, key.VersionTemplate.Algorithm = purposeEncrypt, algorithmRoot
	}
	if _, err := d.keys.Create(d.ring, key).CryptoKeyId(name).Context(ctx).Do(); err != nil {
		return problem(err)
	}
	for {
		_, err := d.Find(ctx, name)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(generating):
		}
	}
}

// Find implements signers.Device. A key counts as exportable if its material was imported: there may be a copy of it.
func (d device) Find(ctx context.Context, name string) (signers.Key, error) {
	found, err := d.keys.Get(d.name(name)).Context(ctx).Do()
	if err != nil {
		return signers.Key{}, problem(err)
	}
	if found.Purpose == purposeEncrypt {
		return signers.Key{Type: signers.TypeRoot, Exportable: found.Primary == nil || found.Primary.ImportJob != ""}, nil
	}
	version, err := d.keys.CryptoKeyVersions.Get(d.version(name)).Context(ctx).Do()
	if err != nil {
		return signers.Key{}, problem(err)
	}
	key := signers.Key{Type: version.Algorithm, Exportable: version.ImportJob != ""}
	if version.Algorithm != algorithmSign {
		return key, nil
	}
	public, err := d.keys.CryptoKeyVersions.GetPublicKey(d.version(name)).Context(ctx).Do()
	if err != nil {
		return key, fmt.Errorf("version 1 of %s is %s: %w", name, version.State, err)
	}
	block, _ := pem.Decode([]byte(public.Pem))
	if block == nil {
		return key, fmt.Errorf("the public key of %s is not in PEM", name)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return key, fmt.Errorf("the public key of %s: %w", name, err)
	}
	key.Type = signers.TypeSigning
	key.Public, _ = parsed.(*ecdsa.PublicKey)
	return key, nil
}

// Sign implements signers.Device.
func (d device) Sign(ctx context.Context, name string, digest []byte) ([]byte, error) {
	out, err := d.keys.CryptoKeyVersions.AsymmetricSign(d.version(name), &cloudkms.AsymmetricSignRequest{
		Digest: &cloudkms.Digest{Sha256: base64.StdEncoding.EncodeToString(digest)},
	}).Context(ctx).Do()
	if err != nil {
		return nil, problem(err)
	}
	return base64.StdEncoding.DecodeString(out.Signature)
}

// Encrypt implements signers.Device.
func (d device) Encrypt(ctx context.Context, name string, plaintext []byte) ([]byte, error) {
	out, err := d.keys.Encrypt(d.name(name), &cloudkms.EncryptRequest{Plaintext: base64.StdEncoding.EncodeToString(plaintext)}).Context(ctx).Do()
	if err != nil {
		return nil, problem(err)
	}
	return base64.StdEncoding.DecodeString(out.Ciphertext)
}

// Decrypt implements signers.Device.
func (d device) Decrypt(ctx context.Context, name string, ciphertext []byte) ([]byte, error) {
	out, err := d.keys.Decrypt(d.name(name), &cloudkms.DecryptRequest{Ciphertext: base64.StdEncoding.EncodeToString(ciphertext)}).Context(ctx).Do()
	if err != nil {
		return nil, problem(err)
	}
	return base64.StdEncoding.DecodeString(out.Plaintext)
}
