package signal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/platform/clock"
	"github.com/countersign-dev/countersign/internal/platform/foreignjwt"
)

// Whatever a verified token says, its events are of the past and of a bounded number, and so are the subjects that they name.
func FuzzClaims(f *testing.F) {
	const revoked = `"events":{"https://schemas.openid.net/secevent/caep/event-type/session-revoked":`
	for _, seed := range []string{
		`{"jti":"a","iat":1774735200,` + revoked + `{"event_timestamp":1774735200}},"sub_id":{"format":"iss_sub","iss":"i","sub":"s"}}`,
		`{"jti":"a","iat":1774735200,` + revoked + `{"event_timestamp":9e99}}}`, `{"jti":"a","iat":1774735200,` + revoked + `{"event_timestamp":"1774735200"}}}`,
		`{"jti":"a","iat":1774735200.999,"toe":253402300799,` + revoked + `{"event_timestamp":1774735200123}}}`, `{"jti":"a","iat":1774735200,` + revoked + `null}}`,
		`{"jti":"a","iat":1774735200,` + revoked + `{}},"sub_id":{"format":"aliases","identifiers":[{"format":"aliases","identifiers":[{"format":"email","email":"a@b"}]}]}}`,
		`{"jti":"a","iat":1774735200,` + revoked + `{"subject":{"format":"complex","user":{"user":{"user":{}}}}}}}`, `{"jti":"","iat":0,"events":{}}`,
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC)
	s := &Service{clock: clock.NewFake(now)}
	f.Fuzz(func(t *testing.T, raw []byte) {
		claims, err := foreignjwt.ReadClaims(raw)
		if err != nil || claims.Bounded() != nil {
			return
		}
		read, err := s.claims(claims)
		if err != nil {
			return
		}
		require.NotEmpty(t, read.id)
		require.LessOrEqual(t, len(read.events), maxEvents)
		for _, e := range read.events {
			require.False(t, e.at.After(now), "%s", e.at)
			require.LessOrEqual(t, len(e.names), maxNames)
			for _, name := range e.names {
				require.True(t, name.Usable())
			}
		}
	})
}
