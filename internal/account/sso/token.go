package sso

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/foreignjwt"
)

// A token is input: its size, form, type, claims and times are checked before any of them costs a signature, a row or a comparison.
const (
	maxIDToken     = 64 << 10
	maxLogoutToken = 16 << 10
	// maxGroups is how many groups of a person are read.
	maxGroups = 5000
	// logoutWithin is how old a logout token may be. Providers send one at once and repeat it for minutes at most.
	logoutWithin = 10 * time.Minute

	logoutEvent = "http://schemas.openid.net/event/backchannel-logout"
)

var (
	idToken     = foreignjwt.Kind{Max: maxIDToken, Types: []string{"", "jwt"}}
	logoutToken = foreignjwt.Kind{Max: maxLogoutToken, Types: []string{"", "jwt", "logout+jwt"}}
)

// logsOut refuses claims unless they are those of a recent logout token (OpenID Connect Back-Channel Logout 1.0, section 2.4).
func (c claims) logsOut(now time.Time) error {
	var events map[string]json.RawMessage
	var event map[string]json.RawMessage
	if json.Unmarshal(c["events"], &events) != nil || json.Unmarshal(events[logoutEvent], &event) != nil || event == nil {
		return foreignjwt.ErrClaim
	}
	if _, has := c["nonce"]; has {
		return foreignjwt.ErrClaim
	}
	issued, ok := foreignjwt.Claims(c).Time("iat")
	if !ok || issued.After(now.Add(foreignjwt.Ahead)) || issued.Before(now.Add(-logoutWithin)) {
		return foreignjwt.ErrClaim
	}
	return nil
}

// reasonOfForm returns why a token was refused before its signature was verified.
func reasonOfForm(err error) Reason {
	if errors.Is(err, foreignjwt.ErrAlgorithm) {
		return ReasonAlgorithm
	}
	return ReasonIDToken
}
