package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/config"
)

// exchange replaces tokens of clients by tokens of the upstream (RFC 8693).
type exchange struct {
	config *config.Exchange
	client *http.Client

	mu     sync.Mutex
	tokens map[[32]byte]exchanged // by the digest of the client's token
}

type exchanged struct {
	token   string
	expires time.Time
}

const (
	keptTokens   = 10_000
	tokenMargin  = 30 * time.Second // before the end of a token's life
	defaultToken = 5 * time.Minute  // life of a token whose issuer names none
)

func newExchange(c *config.Exchange, client *http.Client) *exchange {
	return &exchange{config: c, client: client, tokens: map[[32]byte]exchanged{}}
}

// token returns the upstream's token for a client.
func (x *exchange) token(ctx context.Context, c *Client) (string, error) {
	key := sha256.Sum256([]byte(c.Token))
	x.mu.Lock()
	found, has := x.tokens[key]
	x.mu.Unlock()
	if has && time.Now().Before(found.expires) {
		return found.token, nil
	}
	fresh, err := x.fetch(ctx, c.Token)
	if err != nil {
		return "", err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.tokens) >= keptTokens {
		clear(x.tokens)
	}
	x.tokens[key] = fresh
	return fresh.token, nil
}

func (x *exchange) fetch(ctx context.Context, subject string) (exchanged, error) {
	form := url.Values{
		"grant_type":    {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token": {subject}, "subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
	}
	for name, value := range map[string]string{"audience": x.config.Audience, "resource": x.config.Resource, "scope": x.config.Scope} {
		if value != "" {
			form.Set(name, value)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.config.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return exchanged{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(x.config.ClientID), url.QueryEscape(x.config.ClientSecret))
	res, err := x.client.Do(req)
	if err != nil {
		return exchanged{}, fmt.Errorf("the token cannot be exchanged: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	var out struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	err = json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&out)
	if res.StatusCode != http.StatusOK || err != nil || out.AccessToken == "" || !strings.EqualFold(out.TokenType, "Bearer") {
		return exchanged{}, fmt.Errorf("the token cannot be exchanged: the issuer responds with status %d and without a bearer token", res.StatusCode)
	}
	life := defaultToken
	if out.ExpiresIn > 0 {
		life = time.Duration(out.ExpiresIn) * time.Second
	}
	return exchanged{out.AccessToken, time.Now().Add(life - tokenMargin)}, nil
}
