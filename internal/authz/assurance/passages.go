package assurance

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
	"github.com/countersign-dev/countersign/internal/platform/store"
)

const (
	passagesPurpose = "typed-passages"
	blockPassages   = 16 // a block is written again with each of its passages, and is to stay within a page
)

// KnownTyping collects what is known of a subject's typing on a class of device, block by block, for one frame. Close it.
type KnownTyping struct {
	a     *Assessor
	buf   *[]byte
	newer int // where the newest block begins in buf
	block int
	any   bool
}

// KnownTyping begins with nothing.
func (a *Assessor) KnownTyping() *KnownTyping {
	buf, _ := scratch.Get().(*[]byte)
	*buf = (*buf)[:0]
	return &KnownTyping{a: a, buf: buf}
}

// Begin forgets what was collected: the frame is being taken again.
func (k *KnownTyping) Begin() {
	clear(*k.buf)
	*k.buf = (*k.buf)[:0]
	k.newer, k.block, k.any = 0, 0, false
}

// Take opens the next block. place is what it is sealed to.
func (k *KnownTyping) Take(place []byte, block int, sealed []byte) error {
	at := len(*k.buf)
	opened, err := k.a.keys.OpenTo(*k.buf, passagesPurpose, sealed, place)
	if err != nil {
		return fmt.Errorf("typed passages, block %d: %w", block, err)
	}
	*k.buf, k.newer, k.block, k.any = opened, at, block, true
	return nil
}

// Passages is what was collected, good until Close.
func (k *KnownTyping) Passages() scoring.Passages { return *k.buf }

// Add seals the block that a new passage belongs to, with the passage.
func (k *KnownTyping) Add(p scoring.Passages, subjectUID, device string) (*store.PassageBlock, error) {
	out := store.PassageBlock{Block: k.block}
	newest := (*k.buf)[k.newer:]
	if k.any && scoring.Passages(newest).Len() >= blockPassages {
		out.Block, newest = k.block+1, nil
	}
	raw := append(append(make([]byte, 0, len(newest)+len(p)), newest...), p...)
	defer clear(raw)
	var err error
	out.Sealed, err = k.a.keys.Seal(passagesPurpose, raw, []byte(store.PassagePlace(subjectUID, device, out.Block)))
	return &out, err
}

// Close wipes what was collected.
func (k *KnownTyping) Close() {
	k.Begin()
	scratch.Put(k.buf)
}

// OpenPassages reads one block of a subject's passages.
func (a *Assessor) OpenPassages(place string, sealed []byte) (scoring.Passages, error) {
	raw, err := a.keys.Open(passagesPurpose, sealed, []byte(place))
	if err != nil {
		return nil, fmt.Errorf("typed passages: %w", err)
	}
	return raw, nil
}
