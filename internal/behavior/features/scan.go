package features

import (
	"math"
	"strconv"
)

// Scanned is a features object that Scan has read.
type Scanned struct {
	Frame Frame
	Size  int // bytes of the object
	Names int // of the object and of the objects in it
}

// Scan reads the features object at the start of JSON text, without the tree that Read needs: a frame has a hundred lists of two
// numbers. It is a short cut for the usual frame. ok is false for every object that Read would refuse, that has a name twice, or that
// is written in an unusual way (escapes in names, exponents): decode it with strictjson and let Read decide. The text must be valid
// UTF-8.
func Scan(text string) (found Scanned, ok bool) {
	s := scanner{text: text}
	ok = s.frame(&found.Frame)
	found.Size, found.Names = s.pos, s.names
	return found, ok
}

// scanner reads text from pos. Its methods return false at the first thing that is not plain or not valid.
type scanner struct {
	text  string
	pos   int
	names int
}

// space skips white space.
func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// next skips white space and reads one byte if it is c.
func (s *scanner) next(c byte) bool {
	s.space()
	if s.pos == len(s.text) || s.text[s.pos] != c {
		return false
	}
	s.pos++
	return true
}

// plain reads a string without escapes.
func (s *scanner) plain() (string, bool) {
	if !s.next('"') {
		return "", false
	}
	for start := s.pos; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return s.text[start : s.pos-1], true
		case c == '\\' || c < ' ':
			return "", false
		}
	}
	return "", false
}

// object reads an object. member reads the value of each name.
func (s *scanner) object(member func(name string) bool) bool {
	if !s.next('{') {
		return false
	}
	if s.next('}') {
		return true
	}
	for {
		name, ok := s.plain()
		s.names++
		if !ok || !s.next(':') || !member(name) {
			return false
		}
		if !s.next(',') {
			return s.next('}')
		}
	}
}

// plainNumber is the most characters of a number that is read here: more than a double has digits.
const plainNumber = 24

// number reads a number without exponent within a range, like readNumber.
func (s *scanner) number(lo, hi float64) (float64, bool) {
	s.space()
	start := s.pos
	if s.pos < len(s.text) && s.text[s.pos] == '-' {
		s.pos++
	}
	first := s.pos
	whole := s.digits()
	if whole == 0 || whole > 1 && s.text[first] == '0' {
		return 0, false
	}
	integer := true
	if s.pos < len(s.text) && s.text[s.pos] == '.' {
		s.pos++
		if integer = false; s.digits() == 0 {
			return 0, false
		}
	}
	token := s.text[start:s.pos]
	if len(token) > plainNumber {
		return 0, false
	}
	if integer && len(token) <= 15 {
		n, err := strconv.Atoi(token) // like strictjson, for which -0 is 0
		return float64(n), err == nil && within(float64(n), lo, hi)
	}
	x, err := strconv.ParseFloat(token, 64)
	return x, err == nil && within(x, lo, hi)
}

// digits reads digits and returns their number.
func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos] >= '0' && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// frame reads what readFrame reads.
func (s *scanner) frame(f *Frame) bool {
	var version, clock, presence bool
	return s.object(func(name string) bool {
		switch name {
		case "schema":
			text, ok := s.plain()
			return once(&version) && ok && text == SchemaVersion
		case "clock_ms":
			var ok bool
			f.ClockMS, ok = s.number(0, MaxClockMS)
			return once(&clock) && ok
		case "presence":
			return once(&presence) && s.presence(&f.Presence)
		default:
			return s.block(f, Modality(name))
		}
	}) && version
}

// once reports whether a name occurs for the first time, and marks it.
func once(seen *bool) bool {
	first := !*seen
	*seen = true
	return first
}

// presence reads what readPresence reads.
func (s *scanner) presence(p *Presence) bool {
	return s.object(func(name string) bool {
		i, known := presenceIndex[name]
		if !known || len(p.Has) > 0 && p.Has[i] {
			return false
		}
		x, ok := s.number(presenceScalars[i].Min, presenceScalars[i].Max)
		p.set(name, x)
		return ok
	})
}

// block reads what readBlock reads. A block without events is not kept, so that a second one could not be noticed: it is left to Read.
func (s *scanner) block(f *Frame, m Modality) bool {
	if _, twice := f.Blocks[m]; twice || Dim(m) == 0 {
		return false
	}
	b := Block{Cells: NewVector(Dim(m))}
	var events, active, cells bool
	ok := s.object(func(field string) bool {
		var ok bool
		switch field {
		case "events":
			var n float64
			n, ok = s.number(0, MaxEvents)
			b.Events = int(n)
			return once(&events) && ok && n == math.Trunc(n)
		case "active_ms":
			b.ActiveMS, ok = s.number(0, MaxActiveMS)
			b.ActiveMS = math.Round(math.Max(b.ActiveMS, 0))
			return once(&active) && ok
		case "cells":
			return once(&cells) && s.cells(m, b.Cells)
		default:
			return false
		}
	})
	if !ok || b.Events == 0 || contradiction("", m, b) != nil {
		return false
	}
	f.put(m, b)
	return true
}

// cells reads what readCells reads. A cell without events is left to Read, like a block.
func (s *scanner) cells(m Modality, into Vector) bool {
	index, schema := cellIndex[m], schemaCells[m]
	return s.object(func(name string) bool {
		i, known := index[name]
		if !known || into.N[i] > 0 || !s.next('[') {
			return false
		}
		n, ok := s.number(0, MaxEvents)
		if !ok || n == 0 || !binned(n) || !s.next(',') {
			return false
		}
		mean, ok := s.number(schema[i].Min, schema[i].Max)
		into.N[i], into.M[i] = n, round2(mean)
		return ok && s.next(']')
	})
}
