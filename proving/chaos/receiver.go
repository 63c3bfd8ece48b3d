package chaos

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// receiver is a relying party that accepts webhooks and refuses some of
// them at first.
type receiver struct {
	server *http.Server
	url    string

	mu      sync.Mutex
	rng     *rand.Rand
	moody   bool // refuses some
	refused map[string]bool
	got     map[string][]string
}

// newReceiver starts a receiver on a free port. The seed decides which
// deliveries it refuses.
func newReceiver(seed uint64) (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + l.Addr().String() + "/hooks", rng: rand.New(rand.NewPCG(seed, 0xcafe)), moody: true, refused: map[string]bool{}, got: map[string][]string{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

// ServeHTTP records accepted events. A refused one must be delivered again.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := req.Header.Get("webhook-id")
	if r.moody && !r.refused[id] && r.rng.IntN(50) == 0 {
		r.refused[id] = true // once: after a second refusal minutes pass until the next try
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(body)
	r.got[id] = append(r.got[id], hex.EncodeToString(sum[:8]))
	w.WriteHeader(http.StatusNoContent)
}

// calm ends the refusals, so that every delivery can succeed before the
// check.
func (r *receiver) calm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moody = false
}

// received returns the digests of the accepted bodies by event.
func (r *receiver) received() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string][]string, len(r.got))
	for id, bodies := range r.got {
		out[id] = append([]string(nil), bodies...)
	}
	return out
}

// forget drops the delivered events that are in the log no more, and returns how many.
func (r *receiver) forget(delivered map[string][]string, log map[string]Event) (lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range delivered {
		if _, there := log[id]; !there {
			delete(r.got, id)
			lost++
		}
	}
	return lost
}
