package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azkeys"

	"github.com/countersign-dev/countersign/signers"
)

// device is a key vault. It implements signers.Device. A root key is an RSA key, because standard vaults have no other that wraps.
type device struct {
	vault *azkeys.Client
	hsm   bool
}

const rootBits = 3072

// latest is the version that is used. One that was made in the vault meanwhile has another public key, and its signatures are refused.
const latest = ""

// vaultName returns the name of a key in the vault, which may have no underscore.
func vaultName(name string) string { return strings.ReplaceAll(name, "_", "-") }

// problem returns the error of a device for one of the SDK.
func problem(err error) error {
	var refused *azcore.ResponseError
	if errors.As(err, &refused) {
		switch refused.StatusCode {
		case http.StatusNotFound:
			return signers.ErrNoKey
		case http.StatusBadRequest:
			return fmt.Errorf("%w: %s", signers.ErrInvalid, refused.ErrorCode)
		}
	}
	return err
}

// Create implements signers.Device.
func (d device) Create(ctx context.Context, name, kind string) error {
	if _, err := d.Find(ctx, name); !errors.Is(err, signers.ErrNoKey) {
		return err
	}
	in := azkeys.CreateKeyParameters{Kty: to.Ptr(azkeys.KeyTypeEC), Curve: to.Ptr(azkeys.CurveNameP256), KeyOps: to.SliceOfPtrs(azkeys.KeyOperationSign, azkeys.KeyOperationVerify)}
	if kind == signers.TypeRoot {
		in = azkeys.CreateKeyParameters{Kty: to.Ptr(azkeys.KeyTypeRSA), KeySize: to.Ptr[int32](rootBits), KeyOps: to.SliceOfPtrs(azkeys.KeyOperationWrapKey, azkeys.KeyOperationUnwrapKey)}
	}
	if d.hsm {
		in.Kty = to.Ptr(*in.Kty + "-HSM")
	}
	_, err := d.vault.CreateKey(ctx, vaultName(name), in, nil)
	return problem(err)
}

// Find implements signers.Device.
func (d device) Find(ctx context.Context, name string) (signers.Key, error) {
	found, err := d.vault.GetKey(ctx, vaultName(name), latest, nil)
	if err != nil {
		return signers.Key{}, problem(err)
	}
	if found.Key == nil || found.Key.Kty == nil || found.Attributes == nil {
		return signers.Key{}, errors.New("the vault returned no key")
	}
	key := signers.Key{Type: string(*found.Key.Kty), Exportable: found.Attributes.Exportable != nil && *found.Attributes.Exportable}
	switch *found.Key.Kty {
	case azkeys.KeyTypeRSA, azkeys.KeyTypeRSAHSM:
		key.Type = signers.TypeRoot
	case azkeys.KeyTypeEC, azkeys.KeyTypeECHSM:
		if found.Key.Crv == nil || *found.Key.Crv != azkeys.CurveNameP256 {
			break
		}
		point := append(append([]byte{4}, found.Key.X...), found.Key.Y...) // uncompressed
		key.Type = signers.TypeSigning
		key.Public, err = ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	}
	return key, err
}

// Sign implements signers.Device. The vault returns R and S, 32 bytes each.
func (d device) Sign(ctx context.Context, name string, digest []byte) ([]byte, error) {
	out, err := d.vault.Sign(ctx, vaultName(name), latest, azkeys.SignParameters{Algorithm: to.Ptr(azkeys.SignatureAlgorithmES256), Value: digest}, nil)
	if err != nil {
		return nil, problem(err)
	}
	half := len(out.Result) / 2
	return asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(out.Result[:half]), new(big.Int).SetBytes(out.Result[half:])})
}

// versioned begins a ciphertext that names its version of the key: the prefix, the version, a colon and what the vault returned. Without
// the version it could not be decrypted after the vault rotates the key.
const versioned = "azure:"

// Encrypt implements signers.Device.
func (d device) Encrypt(ctx context.Context, name string, plaintext []byte) ([]byte, error) {
	out, err := d.vault.WrapKey(ctx, vaultName(name), latest, wrapping(plaintext), nil)
	if err != nil {
		return nil, problem(err)
	}
	if out.KID == nil || out.KID.Version() == "" {
		return nil, errors.New("the vault did not name the version of the key that it used")
	}
	return append([]byte(versioned+out.KID.Version()+":"), out.Result...), nil
}

// Decrypt implements signers.Device. A ciphertext of version 1.0 names no version of its key: every version is tried, the newest first.
func (d device) Decrypt(ctx context.Context, name string, ciphertext []byte) ([]byte, error) {
	if rest, named := bytes.CutPrefix(ciphertext, []byte(versioned)); named {
		if version, wrapped, ok := bytes.Cut(rest, []byte(":")); ok && versionForm.Match(version) {
			return d.unwrap(ctx, name, string(version), wrapped)
		}
	}
	plaintext, err := d.unwrap(ctx, name, latest, ciphertext)
	if !errors.Is(err, signers.ErrInvalid) {
		return plaintext, err
	}
	for pages := d.vault.NewListKeyPropertiesVersionsPager(vaultName(name), nil); pages.More(); {
		page, listErr := pages.NextPage(ctx)
		if listErr != nil {
			return nil, problem(listErr)
		}
		for _, version := range page.Value {
			if version == nil || version.KID == nil {
				continue
			}
			if plaintext, unwrapErr := d.unwrap(ctx, name, version.KID.Version(), ciphertext); unwrapErr == nil {
				return plaintext, nil
			}
		}
	}
	return nil, err
}

// versionForm is the form of a version's name, which becomes a part of a path.
var versionForm = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

func (d device) unwrap(ctx context.Context, name, version string, wrapped []byte) ([]byte, error) {
	out, err := d.vault.UnwrapKey(ctx, vaultName(name), version, wrapping(wrapped), nil)
	return out.Result, problem(err)
}

func wrapping(value []byte) azkeys.KeyOperationParameters {
	return azkeys.KeyOperationParameters{Algorithm: to.Ptr(azkeys.EncryptionAlgorithmRSAOAEP256), Value: value}
}
