package models

import "sync"

// scratch is memory for documents on their way into a compressed value. They name people: memory is wiped before it is used again.
type scratch struct{ document, compressed []byte }

// scratchMost is the size of a buffer above which it is not used again: one large document would keep its memory.
const scratchMost = 64 << 10

var scratches = sync.Pool{New: func() any { return &scratch{document: make([]byte, 0, 8<<10)} }}

func newScratch() *scratch {
	s, _ := scratches.Get().(*scratch)
	return s
}

// free wipes the memory, also behind what was appended last, and returns it.
func (s *scratch) free() {
	clear(s.document[:cap(s.document)])
	clear(s.compressed[:cap(s.compressed)])
	if max(cap(s.document), cap(s.compressed)) > scratchMost {
		return
	}
	s.document, s.compressed = s.document[:0], s.compressed[:0]
	scratches.Put(s)
}
