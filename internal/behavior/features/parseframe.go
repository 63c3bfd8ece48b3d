package features

import "math"

// readFrame reads the blocks, presence scalars and clock resolution of a features object.
func readFrame(tree map[string]any) (Frame, *parseError) {
	var f Frame
	version, ok := tree["schema"].(string)
	if !ok || version != SchemaVersion {
		return f, refuse(ReasonSchema, "features.schema: must be %q", SchemaVersion)
	}
	for name, v := range tree {
		var err *parseError
		switch name {
		case "schema":
		case "clock_ms":
			f.ClockMS, err = readNumber(place{"features", "clock_ms"}, v, 0, MaxClockMS)
		case "presence":
			f.Presence, err = readPresence(v)
		default:
			err = readBlock(&f, name, v)
		}
		if err != nil {
			return Frame{}, err
		}
	}
	return f, nil
}

// place is a location in a features object. Only a refusal writes it down: valid frames do not pay for it.
type place struct{ parent, name string }

// String returns the location as details name it.
func (p place) String() string { return p.parent + "." + p.name }

// readNumber returns a finite number within the range.
func readNumber(where place, v any, lo, hi float64) (float64, *parseError) {
	x, ok := v.(float64)
	if !ok {
		if isRaw(v) {
			return 0, refuse(ReasonRawContent, "%s: must be a number", where)
		}
		return 0, refuse(ReasonImpossible, "%s: must be a number", where)
	}
	if !within(x, lo, hi) {
		return 0, refuse(ReasonImpossible, "%s: must be between %g and %g", where, lo, hi)
	}
	return x, nil
}

// readPresence reads the presence scalars; each has a range of its own.
func readPresence(v any) (Presence, *parseError) {
	var p Presence
	tree, ok := v.(map[string]any)
	if !ok {
		if isRaw(v) {
			return p, refuse(ReasonRawContent, "features.presence: must be an object of numbers")
		}
		return p, refuse(ReasonMalformed, "features.presence: must be an object")
	}
	for name, v := range tree {
		i, known := presenceIndex[name]
		if !known {
			return p, unknownName("features.presence", name, v)
		}
		x, err := readNumber(place{"features.presence", name}, v, presenceScalars[i].Min, presenceScalars[i].Max)
		if err != nil {
			return p, err
		}
		p.set(name, x)
	}
	return p, nil
}

func readBlock(f *Frame, name string, v any) *parseError {
	m := Modality(name)
	if Dim(m) == 0 {
		return unknownName("features", name, v)
	}
	where := "features." + name
	tree, ok := v.(map[string]any)
	if !ok {
		return refuse(ReasonRawContent, "%s: must be an object of counts and means", where)
	}
	b := Block{Cells: NewVector(Dim(m))}
	for field, v := range tree {
		var err *parseError
		switch field {
		case "events":
			var n float64
			n, err = readNumber(place{where, "events"}, v, 0, MaxEvents)
			if err == nil && n != math.Trunc(n) {
				err = refuse(ReasonImpossible, "%s.events: must be a whole number", where)
			}
			b.Events = int(n)
		case "active_ms":
			b.ActiveMS, err = readNumber(place{where, "active_ms"}, v, 0, MaxActiveMS)
			b.ActiveMS = math.Round(math.Max(b.ActiveMS, 0))
		case "cells":
			err = readCells(where+".cells", m, v, b.Cells)
		default:
			err = unknownName(where, field, v)
		}
		if err != nil {
			return err
		}
	}
	if err := contradiction(where, m, b); err != nil {
		return err
	}
	f.put(m, b)
	return nil
}

// readCells reads cells of the form [n, mean] into a vector.
func readCells(where string, m Modality, v any, into Vector) *parseError {
	tree, ok := v.(map[string]any)
	if !ok {
		return refuse(ReasonRawContent, "%s: must be an object of [n, mean] pairs", where)
	}
	for name, v := range tree {
		i := CellIndex(m, name)
		if i < 0 {
			return unknownName(where, name, v)
		}
		pair, ok := v.([]any)
		if isRaw(v) {
			return refuse(ReasonRawContent, "%s.%s: an array must be [n, mean]", where, name)
		}
		if !ok || len(pair) != 2 {
			return refuse(ReasonImpossible, "%s.%s: must be [n, mean]", where, name)
		}
		n, err := readNumber(place{where, name}, pair[0], 0, MaxEvents)
		if err != nil {
			return err
		}
		if !binned(n) {
			return refuse(ReasonNotBinned, "%s.%s: n must be 0, %d or %d", where, name, CountFew, CountMany)
		}
		cell := schemaCells[m][i]
		mean, err := readNumber(place{where, name}, pair[1], cell.Min, cell.Max)
		if err != nil {
			return err
		}
		if n > 0 {
			into.N[i], into.M[i] = n, round2(mean)
		}
	}
	return nil
}

// contradiction finds values of a block that exclude each other, such as more events in cells than presses.
func contradiction(where string, m Modality, b Block) *parseError {
	if b.Events == 0 && b.Cells.Filled() > 0 {
		return refuse(ReasonContradicts, "%s: cells without events", where)
	}
	for i, n := range b.Cells.N {
		if n == CountMany && b.Events < 4 {
			return refuse(ReasonContradicts, "%s.%s: more events in the cell than in the block", where, schemaCells[m][i].Name)
		}
	}
	return nil
}
