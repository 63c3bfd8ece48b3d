package apitest

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
)

// Frame is the length of each synthetic evidence frame.
const Frame = 20 * time.Second

// Typist returns a synthetic typist. The name is the seed: the same name always types the same way.
func Typist(name string) *synthetic.Typist {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return synthetic.NewTypist(h.Sum64())
}

// Evidence is the body of the nth frame, of so many keys, of a session that began at start.
func Evidence(who *synthetic.Typist, keys int, purpose string, start time.Time, n int) Object {
	at := start.Add(time.Duration(n+1) * Frame)
	return Object{
		"frame_id": fmt.Sprintf("frame-%d", n), "timestamp": float64(at.UnixMilli()) / 1000, "duration_ms": Frame.Milliseconds() - 500,
		"features": who.Frame(keys), "purpose": purpose,
	}
}
