package signing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// KeySet is the published key set with its ETag and the time for which it may be cached.
type KeySet struct {
	Body   []byte // shared with other callers: do not modify
	ETag   string
	MaxAge time.Duration
	until  time.Time // when it must be read again
}

// Published returns the key set of all environments: next, active and retiring keys. It is cached for cacheFor, until Forget, or
// until a key is due to be retired, whichever is first.
func (s *Service) Published(ctx context.Context) (KeySet, error) {
	now := s.clock.Now()
	if set, _ := s.published.Get(""); now.Before(set.until) {
		return set, nil
	}
	return s.published.Fetch(ctx, "", now.Add(cacheFor), func(ctx context.Context) (KeySet, error) { return s.publish(ctx, now) })
}

// publish reads the key set.
func (s *Service) publish(ctx context.Context, now time.Time) (KeySet, error) {
	rows, err := s.store.SigningKeys().Published(ctx)
	if err != nil {
		return KeySet{}, err
	}
	set := KeySet{MaxAge: keySetMaxAge, until: now.Add(cacheFor)}
	keys := []json.RawMessage{}
	for _, row := range rows {
		if row.RetiringAt != nil {
			ends := row.RetiringAt.Add(Overlap)
			if !now.Before(ends) {
				continue // all its proofs have expired; upkeep retires it within the hour
			}
			if ends.Before(set.until) {
				set.until = ends
			}
		}
		keys = append(keys, json.RawMessage(row.PublicJWK))
	}
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(map[string]any{"keys": keys}); err != nil {
		return KeySet{}, err
	}
	sum := sha256.Sum256(body.Bytes())
	set.Body, set.ETag = body.Bytes(), `"`+hex.EncodeToString(sum[:16])+`"`
	return set, nil
}
