package signing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// KeySet is a published key set with its ETag and the time for which it may be cached.
type KeySet struct {
	Body   []byte // shared with other callers: do not modify
	ETag   string
	MaxAge time.Duration
}

// keySets are the key sets of all environments.
type keySets struct {
	of    map[string]KeySet // by environment id; that of all environments together by the empty id
	none  KeySet
	until time.Time // when they must be read again
}

// Published returns the next, active and retiring keys of an issuer, or of all environments if it is empty. An unknown issuer has
// no keys. The sets are cached for cacheFor, until Forget, or until a key is due to be retired, whichever is first: requests for
// issuers that do not exist cost no query.
func (s *Service) Published(ctx context.Context, issuer string) (KeySet, error) {
	now := s.clock.Now()
	sets, _ := s.published.Get("")
	if !now.Before(sets.until) {
		var err error
		sets, err = s.published.Fetch(ctx, "", now.Add(cacheFor), func(ctx context.Context) (keySets, error) { return s.publish(ctx, now) })
		if err != nil {
			return KeySet{}, err
		}
	}
	environment, ours := strings.CutPrefix(issuer, s.Issuer(""))
	if issuer != "" && (!ours || environment == "") {
		return sets.none, nil
	}
	if set, ok := sets.of[environment]; ok {
		return set, nil
	}
	return sets.none, nil
}

// publish reads the key sets. The keys of each are in the order of their ids, which are random: the order of their creation would
// show which of them belong to one environment.
func (s *Service) publish(ctx context.Context, now time.Time) (keySets, error) {
	rows, err := publishedSigningKeys(ctx, s.store.Q)
	if err != nil {
		return keySets{}, err
	}
	sets := keySets{of: map[string]KeySet{}, until: now.Add(cacheFor)}
	keys := map[string][]json.RawMessage{"": {}}
	for _, row := range rows {
		if row.RetiringAt != nil {
			ends := row.RetiringAt.Add(Overlap)
			if !now.Before(ends) {
				continue // all its proofs have expired; upkeep retires it within the hour
			}
			if ends.Before(sets.until) {
				sets.until = ends
			}
		}
		for _, set := range []string{"", row.EnvironmentID} {
			keys[set] = append(keys[set], json.RawMessage(row.PublicJWK))
		}
	}
	for environment, its := range keys {
		if sets.of[environment], err = keySet(its); err != nil {
			return keySets{}, err
		}
	}
	sets.none, err = keySet([]json.RawMessage{})
	return sets, err
}

func keySet(keys []json.RawMessage) (KeySet, error) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(map[string]any{"keys": keys}); err != nil {
		return KeySet{}, err
	}
	sum := sha256.Sum256(body.Bytes())
	return KeySet{Body: body.Bytes(), ETag: `"` + hex.EncodeToString(sum[:16]) + `"`, MaxAge: keySetMaxAge}, nil
}
