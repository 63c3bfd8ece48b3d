package demo

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"github.com/countersign-dev/countersign/internal/behavior/synthetic"
	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Typing is who types in a session that is opened to test an integration.
type Typing string

// The enrolled person; a different person in their name; the enrolled person with a frame that is sent twice; a program with even times.
const (
	TypingSelf    Typing = "self"
	TypingOther   Typing = "other"
	TypingReplay  Typing = "replay"
	TypingProgram Typing = "program"
)

// Typings are all of them.
var Typings = []Typing{TypingSelf, TypingOther, TypingReplay, TypingProgram}

// SessionOptions configure a session to test an integration with.
type SessionOptions struct {
	API     *countersign.Client // with a server key of a sandbox
	Subject string
	Typing  Typing
	Now     func() time.Time
	Out     io.Writer // of progress
}

// Session opens a session of a subject, sends the frames of a simulated person in it and returns its id. A subject that is missing is
// created, and one without a template is enrolled first. The enrolled person is the same for all subjects.
func Session(ctx context.Context, o SessionOptions) (id string, err error) {
	s := &show{Options: Options{Now: o.Now, Out: o.Out}, api: o.API}
	if err := s.identify(ctx); err != nil {
		return "", err
	}
	subject, err := s.api.GetSubject(ctx, o.Subject)
	if countersign.IsCode(err, countersign.CodeNotFound) {
		subject, err = s.api.CreateSubject(ctx, &countersign.SubjectCreate{ID: o.Subject})
	}
	if err != nil {
		return "", err
	}
	if subject.Enrollment != countersign.EnrollmentStateEnrolled {
		p, own := person{name: o.Subject}, typist(selfSeed)
		for range enrollSessions {
			p.enroll = append(p.enroll, session(own))
		}
		if err := s.enroll(ctx, p, subject.ID); err != nil {
			return "", err
		}
	}
	return s.observe(ctx, subject.ID, "score", typed(o.Typing))
}

// The seeds of the two people who type: of most people a few minutes of typing say too little at times, of these two not once in 2,000 trials,
// so that a test may rely on them.
const (
	selfSeed  = 5
	otherSeed = 105
)

// typist returns a person. All calls are on the same day of that person, with other single times, because equal frames are taken for a replay.
func typist(seed uint64) *synthetic.Typist {
	return synthetic.NewTypist(seed).Elsewhere(rand.Uint64()) // #nosec G404 -- not a secret
}

// session returns frames that the typist types next, as many as a session of a demonstration has at most.
func session(t *synthetic.Typist) []frame { return frames(t.Type(maxFrames * frameKeys)) }

// typed returns the frames of a session that is scored.
func typed(by Typing) []frame {
	own := typist(selfSeed)
	switch by {
	case TypingOther:
		return session(typist(otherSeed))
	case TypingReplay:
		return person{own: session(own)}.replayed()
	case TypingProgram:
		generator := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) // #nosec G404 -- not a secret
		return frames(synthetic.WebDriver().Make(generator, own.Type(maxFrames*frameKeys)))
	default:
		return session(own)
	}
}
