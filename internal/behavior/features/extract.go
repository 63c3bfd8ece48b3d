package features

// Raw is the input observed in one frame. It is raw content: it must never leave the machine that recorded it.
type Raw struct {
	Keys    []KeyEvent
	Pointer []PointerEvent
	Scroll  []ScrollEvent
	ClockMS float64
}

// Extract computes the frame that a collector would send for the raw events. It does not modify raw.
func Extract(raw Raw) Frame {
	f := Frame{ClockMS: raw.ClockMS}
	var typing, moving Presence
	if len(raw.Keys) > 0 {
		var b Block
		b, typing = ExtractKeystroke(raw.Keys)
		f.put(Keystroke, b)
	}
	if len(raw.Pointer) > 0 {
		var b Block
		b, moving = ExtractPointer(raw.Pointer)
		f.put(Pointer, b)
	}
	if len(raw.Scroll) > 0 {
		f.put(Scroll, ExtractScroll(raw.Scroll))
	}
	f.put(Rhythm, ExtractRhythm(raw.Keys, raw.Pointer, raw.Scroll))
	f.Presence = mergePresence(typing, moving)
	return f
}

// mergePresence joins the scalars of typing and of the pointer, which are different ones.
func mergePresence(a, b Presence) Presence {
	if a.Has == nil {
		return b
	}
	for i := range b.Has {
		if b.Has[i] {
			a.Has[i], a.Values[i] = true, b.Values[i]
		}
	}
	return a
}
