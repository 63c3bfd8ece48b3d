package assurance

import (
	"fmt"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/internal/behavior/scoring"
)

const (
	passagesPurpose = "typed-passages"
	blockPassages   = 16 // passages per block: a block is rewritten with each new passage and should fit a database page
)

// KnownTyping collects a subject's stored typing on a class of device, block by block, to compare one frame with it. The caller must
// call Close.
type KnownTyping struct {
	a     *Assessor
	buf   *[]byte
	newer int // offset of the newest block in buf
	block int
	any   bool
}

// collections pools the buffers of collections, which are ten times as large as others.
var collections = sync.Pool{New: func() any { return new([]byte) }}

// KnownTyping returns an empty collection.
func (a *Assessor) KnownTyping() *KnownTyping {
	buf, _ := collections.Get().(*[]byte)
	*buf = (*buf)[:0]
	return &KnownTyping{a: a, buf: buf}
}

// Begin empties the collection, before the frame is processed again.
func (k *KnownTyping) Begin() {
	clear(*k.buf)
	*k.buf = (*k.buf)[:0]
	k.newer, k.block, k.any = 0, 0, false
}

// Take decrypts the next block. The block is sealed to its place.
func (k *KnownTyping) Take(place []byte, block int, sealed []byte) error {
	at := len(*k.buf)
	*k.buf = slices.Grow(*k.buf, len(sealed)) // by doubling; decryption would make room for one block at a time
	opened, err := k.a.keys.OpenTo(*k.buf, passagesPurpose, sealed, place)
	if err != nil {
		return fmt.Errorf("typed passages, block %d: %w", block, err)
	}
	*k.buf, k.newer, k.block, k.any = opened, at, block, true
	return nil
}

// Passages returns the collected passages. They are valid until Close.
func (k *KnownTyping) Passages() scoring.Passages { return *k.buf }

// Add returns the block that contains the new passage, encrypted for storage.
func (k *KnownTyping) Add(p scoring.Passages, subjectUID, device string) (*PassageBlock, error) {
	out := PassageBlock{Block: k.block}
	newest := (*k.buf)[k.newer:]
	if k.any && scoring.Passages(newest).Len() >= blockPassages {
		out.Block, newest = k.block+1, nil
	}
	raw := append(append(make([]byte, 0, len(newest)+len(p)), newest...), p...)
	defer clear(raw)
	var err error
	out.Sealed, err = k.a.keys.Seal(passagesPurpose, raw, []byte(PassagePlace(subjectUID, device, out.Block)))
	return &out, err
}

// Close wipes the collection and releases its buffer.
func (k *KnownTyping) Close() {
	k.Begin()
	collections.Put(k.buf)
}

// OpenPassages decrypts one block of a subject's passages.
func (a *Assessor) OpenPassages(place string, sealed []byte) (scoring.Passages, error) {
	raw, err := a.keys.Open(passagesPurpose, sealed, []byte(place))
	if err != nil {
		return nil, fmt.Errorf("typed passages: %w", err)
	}
	return raw, nil
}
