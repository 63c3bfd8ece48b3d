package assurance

import (
	"fmt"
	"sync"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/models"
)

// Opened is the decrypted evidence that one frame is scored with: the subject's templates and the session's state. Its memory is
// wiped by Close and reused by other frames. The caller must call Close, and may then use nothing that it returned.
type Opened struct {
	a         *Assessor
	memory    scoring.Memory
	templates scoring.Templates
	received  []byte // the sealed state as it was stored
	sealed    []byte // the sealed state to store
}

// reusable pools evidence that is closed.
var reusable = sync.Pool{New: func() any { return &Opened{received: make([]byte, stateMost), sealed: make([]byte, stateMost)} }}

// stateMost is the size of most sealed states of a session with a full window, in bytes.
const stateMost = 12 << 10

// Opened returns evidence without content.
func (a *Assessor) Opened() *Opened {
	o, _ := reusable.Get().(*Opened)
	o.a = a
	return o
}

// Begin removes the content, before the frame is processed again, and returns memory for the sealed state that is read.
func (o *Opened) Begin() []byte {
	o.memory.Reset()
	clear(o.templates)
	o.templates = o.templates[:0]
	return o.received[:cap(o.received)]
}

// Take decrypts a template and migrates one of an earlier background to the active model. It stores nothing of the row.
func (o *Opened) Take(row models.Template) error {
	var t scoring.Template
	decode := func(raw []byte) error { return t.DecodeIn(&o.memory, raw) }
	if err := o.a.opened(templatePurpose, row.Data, placeOf(row), decode); err != nil {
		return fmt.Errorf("template %s: %w", row.ID, err)
	}
	t, err := o.a.migrated(row, t)
	o.templates = append(o.templates, t)
	return err
}

// Templates returns the templates taken.
func (o *Opened) Templates() scoring.Templates { return o.templates }

// State decrypts the state of a session; a session without evidence has an empty state.
func (o *Opened) State(s models.Session) (scoring.State, error) {
	if cap(s.State) > cap(o.received) {
		o.received = s.State
	}
	return o.a.openState(&o.memory, s)
}

// Seal encrypts a state for storage.
func (o *Opened) Seal(session string, state scoring.State) ([]byte, error) {
	buf, _ := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	raw, err := state.AppendBinary((*buf)[:0])
	if err != nil {
		return nil, err
	}
	*buf = raw
	defer clear(raw)
	o.sealed, err = o.a.keys.SealTo(o.sealed[:0], statePurpose, raw, []byte(session))
	return o.sealed, err
}

// Close wipes the evidence and releases its memory.
func (o *Opened) Close() {
	o.Begin()
	reusable.Put(o)
}
