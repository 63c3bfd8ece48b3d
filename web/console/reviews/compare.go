package reviews

import (
	"slices"

	"github.com/countersign-dev/countersign/internal/authz/display"
	"github.com/countersign-dev/countersign/internal/authz/hold"
)

// comparedValue is a value beside that of the first hold of a selection: what both begin and end with, and what differs between them.
type comparedValue struct {
	Label               string
	Before, Mark, After string
	Differs             bool
}

// compare fills in what a hold of a selection shows beside the first one. Nothing that identifies a request is left out, and of the rest only
// what differs is shown: a list of alike holds must not hide the one that is not.
func (row *selectedRow) compare(first, of hold.Queued) {
	row.Payer, row.Sum = compared("Subject", first.Subject, of.Subject), compared("Amount", first.Outline.Amount, of.Outline.Amount)
	row.Differs = row.Payer.Differs || row.Sum.Differs || first.ActionID != of.ActionID || first.Outline.Title != of.Outline.Title
	value := func(list []display.Detail, like display.Detail) (string, bool) {
		i := slices.IndexFunc(list, func(d display.Detail) bool { return d.Label == like.Label })
		if i < 0 {
			return "", false
		}
		return list[i].Value, true
	}
	amount := false
	for _, d := range of.Shown {
		before, _ := value(first.Shown, d)
		one := compared(d.Label, before, d.Value)
		switch {
		case d.Title:
		case d.Format == display.Money && !amount:
			amount = true // it has a column
		case d.Format == display.Account:
			row.Account = append(row.Account, one)
		case one.Differs:
			row.Others = append(row.Others, one)
		}
		row.Differs = row.Differs || one.Differs
	}
	for _, d := range first.Shown {
		if _, given := value(of.Shown, d); !given {
			row.Others, row.Differs = append(row.Others, comparedValue{Label: d.Label, Mark: "not given", Differs: true}), true
		}
	}
}

// compared marks what differs between two values.
func compared(label, first, value string) comparedValue {
	if first == value {
		return comparedValue{Label: label, Before: value}
	}
	a, b := []rune(first), []rune(value)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if start+end == len(b) { // a part of the first value is missing: all of this one is marked
		start, end = 0, 0
	}
	return comparedValue{Label: label, Before: string(b[:start]), Mark: string(b[start : len(b)-end]), After: string(b[len(b)-end:]), Differs: true}
}
