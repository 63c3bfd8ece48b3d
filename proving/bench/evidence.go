package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/subject/session"
	"github.com/countersign-dev/countersign/proving/harness"
	"github.com/countersign-dev/countersign/proving/loadgen"
)

const (
	enrolledPeople = 24
	openSessions   = 256 // asked and recorded alike: both sides read and write as many rows
	// underWay is how many frames each session has had when measuring begins: its window is full, as it is for most of a
	// session's time, and what is recorded for the bare transaction is such a session's too.
	underWay = 24
	// frameRate is the most frames a second that texts are prepared for in the closed loop.
	frameRate = 2000
)

// typing is a person with feature texts to send. Each text is sent once,
// because a frame in two sessions is a replay.
type typing struct {
	person
	texts [][]byte
	sent  atomic.Int64
}

var errNothingLeft = errors.New("no frame is left to send: this machine takes more than were prepared")

// text returns the person's next feature text, or errNothingLeft.
func (t *typing) text() ([]byte, error) {
	i := int(t.sent.Add(1)) - 1
	if i >= len(t.texts) {
		return nil, errNothingLeft
	}
	return t.texts[i], nil
}

// observed is a session in progress that takes one frame of its person
// after the other.
type observed struct {
	id    string
	who   *typing
	next  atomic.Int64
	start time.Time
}

// frame builds the body of the session's next frame.
func (o *observed) frame() ([]byte, error) {
	text, err := o.who.text()
	if err != nil {
		return nil, err
	}
	return frame(text, "score", o.start, int(o.next.Add(1)-1)), nil
}

// evidence measures a frame of an enrolled person, scored and stored,
// compared with its SQL.
func evidence(ctx context.Context, b *bench) error {
	open, err := b.observations(ctx)
	if err != nil {
		return err
	}
	plain, err := b.bareFrames(ctx, open)
	if err != nil {
		return err
	}
	defer plain.pool.Close()
	var at atomic.Int64
	api := func(context.Context, int) error { return b.observe(open[int(at.Add(1))%len(open)]) }
	if err := b.beside(ctx, "evidence", "evidence frame", "frames", api, plain); err != nil {
		return err
	}
	return b.sessionSize(ctx)
}

// bareFrames records the statements of a frame of each session.
func (b *bench) bareFrames(ctx context.Context, open []*observed) (*bare, error) {
	return b.bare(ctx, openSessions, func(ctx context.Context, in *inside, i int) error {
		body, err := open[i].frame()
		if err != nil {
			return err
		}
		var f session.Frame
		if err := json.Unmarshal(body, &f); err != nil {
			return err
		}
		_, err = in.sessions.Evidence(ctx, in.principal, open[i].id, f)
		return err
	})
}

// storedSession is the name of the row of sessionSize.
const storedSession = "a session, stored"

// sessionSize adds a row of what a session with a full window takes on disk, without the space of its replaced versions.
func (b *bench) sessionSize(ctx context.Context) error {
	var n, bytes int64
	err := onDatabase(ctx, b.rig.DatabaseURL(), func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "vacuum full sessions"); err != nil {
			return err
		}
		return conn.QueryRow(ctx, "select count(*), pg_total_relation_size('sessions') from sessions").Scan(&n, &bytes)
	})
	if err != nil {
		return err
	}
	b.add(row("evidence", storedSession, "after vacuum full", loadgen.Result{Latencies: make([]time.Duration, n)}, cost{tables: sizes{"sessions": bytes}}))
	return nil
}

// observe sends the session's next frame and returns an error unless it is
// accepted.
func (b *bench) observe(o *observed) error {
	body, err := o.frame()
	if err != nil {
		return err
	}
	a, err := b.server.Do("POST", "/api/v1/sessions/"+o.id+"/evidence", body)
	if err != nil {
		return err
	}
	if a.Status != 200 || !bytes.Contains(a.Body, []byte(`"status":"accepted"`)) {
		return fmt.Errorf("returned status %d: %s", a.Status, a.Body)
	}
	return nil
}

// observations opens sessions of enrolled people with enough frames for the
// whole measurement.
func (b *bench) observations(ctx context.Context) ([]*observed, error) {
	all, err := b.people(ctx, enrolledPeople, true)
	if err != nil {
		return nil, err
	}
	b.say("evidence: preparing frames")
	lasts := b.Slice.Seconds()*float64(b.Rounds) + 3
	typists := make([]*typing, len(all))
	if err := parallel(ctx, len(all), func(i int) error {
		t := &typing{person: all[i]}
		for range (int(lasts*(frameRate+openRate)) + underWay*openSessions) / len(all) {
			text, err := t.typist.frame(frameKeys)
			if err != nil {
				return err
			}
			t.texts = append(t.texts, text)
		}
		typists[i] = t
		return nil
	}); err != nil {
		return nil, err
	}
	open := make([]*observed, openSessions)
	return open, parallel(ctx, openSessions, func(i int) error {
		t := typists[i%len(typists)]
		id, err := harness.NewSession(ctx, b.sdk, t.subject)
		open[i] = &observed{id: id, who: t, start: time.Now().Add(-2 * time.Hour)}
		for n := 0; err == nil && n < underWay; n++ {
			err = b.observe(open[i])
		}
		return err
	})
}
