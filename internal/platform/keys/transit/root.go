package transit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// rootLimit bounds one use of a root key. A process uses it only when it starts.
const rootLimit = 5 * time.Second

// Root implements keys.RootKey with a key of the Transit engine that encrypts, such as one of type aes256-gcm96.
type Root struct {
	s   *Signer
	key string
}

// OpenRoot returns the root key of a URI, vault+transit://host:port/mount/key, with the parameters of Open. It does not reach the server.
func OpenRoot(u *url.URL) (*Root, error) {
	path := strings.TrimRight(u.Path, "/")
	end := strings.LastIndexByte(path, '/')
	if end < 1 || !keyName.MatchString(path[end+1:]) {
		return nil, errors.New("want vault+transit://host:port/mount/key")
	}
	mount := *u
	mount.Path = path[:end]
	s, err := Open(&mount)
	return &Root{s, path[end+1:]}, err
}

// Name implements keys.RootKey.
func (r *Root) Name() string { return r.s.name + "/" + r.key }

// Wrap implements keys.RootKey. It refuses a key that can be exported.
func (r *Root) Wrap(ctx context.Context, master []byte) (string, error) {
	var found custody
	if err := r.call(ctx, http.MethodGet, "keys", nil, &found); err != nil {
		return "", err
	}
	if err := found.stays(r.key); err != nil {
		return "", err
	}
	var made struct {
		Ciphertext string `json:"ciphertext"`
	}
	err := r.call(ctx, http.MethodPost, "encrypt", map[string]any{"plaintext": master}, &made)
	if err == nil && made.Ciphertext == "" {
		err = errors.New("the server returned no ciphertext")
	}
	return made.Ciphertext, err
}

// Unwrap implements keys.RootKey.
func (r *Root) Unwrap(ctx context.Context, wrapped string) ([]byte, error) {
	var made struct {
		Plaintext []byte `json:"plaintext"`
	}
	err := r.call(ctx, http.MethodPost, "decrypt", map[string]any{"ciphertext": wrapped}, &made)
	return made.Plaintext, err
}

func (r *Root) call(ctx context.Context, method, operation string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, rootLimit)
	defer cancel()
	if err := r.s.call(ctx, method, "/"+operation+"/"+r.key, in, out); err != nil {
		return fmt.Errorf("the root key %s: %w", r.Name(), err)
	}
	return nil
}
