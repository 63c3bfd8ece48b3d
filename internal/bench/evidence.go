package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/internal/session"
)

// frames is how many different frames are prepared; a frame sent to two sessions is told as a replay.
const (
	enrolledPeople = 24
	openSessions   = 1500
)

// observed is a session on its way: it takes one frame after the other.
type observed struct {
	id     string
	person person
	next   atomic.Int64
	start  time.Time
}

// evidence measures a frame of an enrolled person, scored and stored, beside its own SQL.
func evidence(ctx context.Context, b *bench) error {
	all, err := people(ctx, b.server, enrolledPeople, true)
	if err != nil {
		return err
	}
	open := make([]*observed, openSessions)
	if err := several(ctx, openSessions, func(i int) error {
		p := all[i%len(all)]
		id, err := openSession(b.server, p.subject)
		open[i] = &observed{id: id, person: p, start: time.Now().Add(-25 * time.Minute)}
		return err
	}); err != nil {
		return err
	}
	b.say("evidence: preparing frames")
	texts := b.frames(all)
	var at atomic.Int64
	next := func() (*observed, []byte) {
		i := at.Add(1)
		o := open[int(i)%len(open)]
		return o, frame(texts[int(i)%len(texts)], "score", o.start, int(o.next.Add(1)-1))
	}
	plain, err := b.bare(ctx, func(ctx context.Context, in *inside, i int) error {
		o := open[i]
		var f session.Frame
		if err := json.Unmarshal(frame(texts[int(at.Add(1))%len(texts)], "score", o.start, int(o.next.Add(1)-1)), &f); err != nil {
			return err
		}
		_, err := in.sessions.Evidence(ctx, in.principal, o.id, f)
		return err
	})
	if err != nil {
		return err
	}
	defer plain.pool.Close()
	var accepted, other atomic.Int64
	api := func(context.Context, int) error {
		o, body := next()
		a, err := b.server.Do("POST", "/api/v1/sessions/"+o.id+"/evidence", body)
		if err != nil {
			return err
		}
		if a.Status != 200 {
			return fmt.Errorf("answered %d: %s", a.Status, a.Body)
		}
		if bytes.Contains(a.Body, []byte(`"status":"accepted"`)) {
			accepted.Add(1)
		} else {
			other.Add(1)
		}
		return nil
	}
	if err := b.beside(ctx, "evidence", "evidence frame", "frames", api, plain); err != nil {
		return err
	}
	if other.Load() > accepted.Load()/20 {
		return errors.New("more than one frame in twenty was not accepted: this measures something else")
	}
	return nil
}

// frames are the feature texts that are sent, each one different.
func (b *bench) frames(all []person) [][]byte {
	n := int(b.Slice.Seconds()*float64(b.Rounds))*2*openRate + 2000
	out := make([][]byte, 0, n)
	for i := range n {
		text, err := json.Marshal(all[i%len(all)].typist.Frame(frameKeys))
		if err == nil {
			out = append(out, text)
		}
	}
	return out
}
