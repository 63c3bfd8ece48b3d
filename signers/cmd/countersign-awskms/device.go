package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/countersign-dev/countersign/signers"
)

// device is AWS KMS. It implements signers.Device. The name of a key is that of its alias, without the prefix alias/.
type device struct {
	kms *kms.Client
	// created are the ids of keys that this process created, by name: KMS finds a new alias some seconds later only.
	created *sync.Map
}

func newDevice(client *kms.Client) device { return device{client, &sync.Map{}} }

func alias(name string) *string { return aws.String("alias/" + name) }

// key returns the id of a key that this process created, and the alias of any other.
func (d device) key(name string) *string {
	if id, ok := d.created.Load(name); ok {
		return id.(*string)
	}
	return alias(name)
}

// problem returns the error of a device for one of the SDK.
func problem(err error) error {
	var missing *types.NotFoundException
	var wrong *types.InvalidCiphertextException
	switch {
	case errors.As(err, &missing):
		return signers.ErrNoKey
	case errors.As(err, &wrong):
		return signers.ErrInvalid
	}
	return err
}

// Create implements signers.Device.
func (d device) Create(ctx context.Context, name, kind string) error {
	if _, err := d.Find(ctx, name); !errors.Is(err, signers.ErrNoKey) {
		return err
	}
	in := &kms.CreateKeyInput{Description: aws.String("Countersign: " + name), KeySpec: types.KeySpecEccNistP256, KeyUsage: types.KeyUsageTypeSignVerify}
	if kind == signers.TypeRoot {
		in.KeySpec, in.KeyUsage = types.KeySpecSymmetricDefault, types.KeyUsageTypeEncryptDecrypt
	}
	made, err := d.kms.CreateKey(ctx, in)
	if err != nil {
		return err
	}
	_, err = d.kms.CreateAlias(ctx, &kms.CreateAliasInput{AliasName: alias(name), TargetKeyId: made.KeyMetadata.KeyId})
	if err == nil {
		d.created.Store(name, made.KeyMetadata.KeyId)
		return nil
	}
	// A key without its name would stay, and cost, for ever. Without the permission to delete it stays all the same.
	_, _ = d.kms.ScheduleKeyDeletion(context.WithoutCancel(ctx), &kms.ScheduleKeyDeletionInput{KeyId: made.KeyMetadata.KeyId, PendingWindowInDays: aws.Int32(7)})
	if taken := new(types.AlreadyExistsException); errors.As(err, &taken) {
		return nil // another process created the key of this name
	}
	return err
}

// Find implements signers.Device. A key counts as exportable if its material was not made by KMS: there may be a copy of it.
func (d device) Find(ctx context.Context, name string) (signers.Key, error) {
	found, err := d.kms.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: d.key(name)})
	if err != nil {
		return signers.Key{}, problem(err)
	}
	m := found.KeyMetadata
	key := signers.Key{Exportable: m.Origin != types.OriginTypeAwsKms && m.Origin != types.OriginTypeAwsCloudhsm}
	switch {
	case m.KeySpec == types.KeySpecSymmetricDefault:
		key.Type = signers.TypeRoot
		return key, nil
	case m.KeySpec != types.KeySpecEccNistP256 || m.KeyUsage != types.KeyUsageTypeSignVerify:
		key.Type = string(m.KeySpec)
		return key, nil
	}
	public, err := d.kms.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: m.KeyId})
	if err != nil {
		return key, problem(err)
	}
	parsed, err := x509.ParsePKIXPublicKey(public.PublicKey)
	if err != nil {
		return key, fmt.Errorf("the public key of %s: %w", name, err)
	}
	key.Type = signers.TypeSigning
	key.Public, _ = parsed.(*ecdsa.PublicKey)
	return key, nil
}

// Sign implements signers.Device.
func (d device) Sign(ctx context.Context, name string, digest []byte) ([]byte, error) {
	out, err := d.kms.Sign(ctx, &kms.SignInput{
		KeyId: d.key(name), Message: digest, MessageType: types.MessageTypeDigest, SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
	})
	if err != nil {
		return nil, problem(err)
	}
	return out.Signature, nil
}

// Encrypt implements signers.Device.
func (d device) Encrypt(ctx context.Context, name string, plaintext []byte) ([]byte, error) {
	out, err := d.kms.Encrypt(ctx, &kms.EncryptInput{KeyId: d.key(name), Plaintext: plaintext})
	if err != nil {
		return nil, problem(err)
	}
	return out.CiphertextBlob, nil
}

// Decrypt implements signers.Device.
func (d device) Decrypt(ctx context.Context, name string, ciphertext []byte) ([]byte, error) {
	out, err := d.kms.Decrypt(ctx, &kms.DecryptInput{KeyId: d.key(name), CiphertextBlob: ciphertext})
	if err != nil {
		return nil, problem(err)
	}
	return out.Plaintext, nil
}
