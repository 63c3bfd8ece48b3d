package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/signers"
	"github.com/countersign-dev/countersign/signers/devicetest"
)

// standIn is a stand-in for AWS KMS, written from the documentation of its JSON protocol. It is not KMS and not a recording of it.
type standIn struct {
	mu      sync.Mutex
	made    []any // *ecdsa.PrivateKey, or nil for a symmetric key; its index is the id
	aliases map[string]string
	late    bool // aliases are not found yet
	deleted []string
	down    bool
}

type call struct {
	KeyID       string `json:"KeyId"`
	KeySpec     string
	AliasName   string
	TargetKeyID string `json:"TargetKeyId"`
	Message     []byte
	MessageType string
	Algorithm   string `json:"SigningAlgorithm"`
	Plaintext   []byte
	Ciphertext  []byte `json:"CiphertextBlob"`
}

var mark = []byte("encrypted:") // in place of encryption

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	fail := func(status int, kind string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"__type": kind, "message": kind})
	}
	var in call
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || s.down || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
		fail(http.StatusInternalServerError, "KMSInternalException")
		return
	}
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "TrentService.")
	var id int
	if operation != "CreateKey" && operation != "CreateAlias" {
		if target, ok := s.aliases[in.KeyID]; ok && !s.late {
			in.KeyID = target
		}
		if !strings.HasPrefix(in.KeyID, "key-") {
			fail(http.StatusBadRequest, "NotFoundException")
			return
		}
		id = int(in.KeyID[len("key-")] - '0')
	}
	out, refusal := s.answer(operation, id, in)
	if refusal != "" {
		fail(http.StatusBadRequest, refusal)
		return
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (s *standIn) answer(operation string, id int, in call) (out map[string]any, refusal string) {
	metadata := func(id int) map[string]any {
		m := map[string]any{"KeyId": "key-" + string(rune('0'+id)), "Origin": "AWS_KMS", "KeySpec": "SYMMETRIC_DEFAULT", "KeyUsage": "ENCRYPT_DECRYPT"}
		if s.made[id] != nil {
			m["KeySpec"], m["KeyUsage"] = "ECC_NIST_P256", "SIGN_VERIFY"
		}
		return map[string]any{"KeyMetadata": m}
	}
	key := func() *ecdsa.PrivateKey { return s.made[id].(*ecdsa.PrivateKey) }
	switch operation {
	case "CreateKey":
		var made any
		if in.KeySpec == "ECC_NIST_P256" {
			made, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		}
		s.made = append(s.made, made)
		return metadata(len(s.made) - 1), ""
	case "ScheduleKeyDeletion":
		s.deleted = append(s.deleted, in.KeyID)
		return map[string]any{}, ""
	case "CreateAlias":
		if s.aliases[in.AliasName] != "" {
			return nil, "AlreadyExistsException"
		}
		s.aliases[in.AliasName] = in.TargetKeyID
		return map[string]any{}, ""
	case "DescribeKey":
		return metadata(id), ""
	case "GetPublicKey":
		der, _ := x509.MarshalPKIXPublicKey(key().Public())
		return map[string]any{"PublicKey": der}, ""
	case "Sign":
		if in.MessageType != "DIGEST" || in.Algorithm != "ECDSA_SHA_256" {
			return nil, "ValidationException"
		}
		signature, _ := ecdsa.SignASN1(rand.Reader, key(), in.Message)
		return map[string]any{"Signature": signature}, ""
	case "Encrypt":
		return map[string]any{"CiphertextBlob": append(bytes.Clone(mark), in.Plaintext...)}, ""
	case "Decrypt":
		plaintext, ok := bytes.CutPrefix(in.Ciphertext, mark)
		if !ok {
			return nil, "InvalidCiphertextException"
		}
		return map[string]any{"Plaintext": plaintext}, ""
	}
	return nil, "UnknownOperationException"
}

func setup(t *testing.T) (device, *standIn) {
	t.Helper()
	stand := &standIn{aliases: map[string]string{}}
	cloud := httptest.NewServer(stand)
	t.Cleanup(cloud.Close)
	return newDevice(kms.New(kms.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(cloud.URL), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})), stand
}

// KMS finds a new alias some seconds later: the key is used by its id meanwhile, and not created again.
func TestKeyIsUsedBeforeItsAliasIsVisible(t *testing.T) {
	t.Parallel()
	d, stand := setup(t)
	stand.late = true
	for range 3 {
		require.NoError(t, d.Create(t.Context(), "env_late", signers.TypeSigning))
	}
	require.Len(t, stand.made, 1)
	_, err := d.Sign(t.Context(), "env_late", make([]byte, 32))
	require.NoError(t, err)

	other := newDevice(d.kms) // another process
	require.NoError(t, other.Create(t.Context(), "env_late", signers.TypeSigning))
	require.Equal(t, []string{"key-1"}, stand.deleted, "a key that could not have its name does not stay")
}

func TestKeysInAWSKMS(t *testing.T) {
	t.Parallel()
	d, stand := setup(t)
	devicetest.Run(t, d, func() {
		stand.mu.Lock()
		defer stand.mu.Unlock()
		stand.down = true
	})
}
