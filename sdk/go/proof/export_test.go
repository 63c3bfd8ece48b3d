package proof

import (
	"net/http"
	"time"
)

// NewRemoteAt is NewRemote with a clock.
func NewRemoteAt(base string, client *http.Client, now func() time.Time) *Remote {
	r := NewRemote(base, client)
	r.now = now
	return r
}
