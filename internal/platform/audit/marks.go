package audit

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	// openFor is how long a transaction may last after it wrote an event without being sealed later than one that began after it.
	// Statements and idle transactions end sooner (pg.Options.StatementTimeout).
	openFor = 10 * time.Second
	// lateFor is how long a transaction may last after it wrote an event. An event of one that lasted longer is not sealed, like one
	// that was inserted by hand among events of the past: Verify reports both.
	lateFor = 10 * time.Minute
	// markEvery is the shortest time between two marks. Older marks are at least half their age apart.
	markEvery = 500 * time.Millisecond
)

// mark is a number up to which all events of an environment had been written at a time: what is found below it openFor later was
// written by a transaction that lasted longer. Those above it are in later links than were made by then.
type mark struct {
	At    time.Time `json:"at"`
	Top   int64     `json:"top"`
	Links int64     `json:"links"`
	Next  int64     `json:"next"` // what was written by then has a lower transaction id
}

// marksOf returns the marks of a head, oldest first.
func marksOf(head HeadRow) (marks []mark, err error) {
	if err = json.Unmarshal(head.Marks, &marks); err != nil {
		err = fmt.Errorf("audit: the marks of the head of %s: %w", head.EnvironmentID, err)
	}
	return marks, err
}

// advance moves the numbers of a head whose log was read to its end, and reports whether one changed. They follow the marks behind which
// every transaction is over or, while one stays open, those that are old enough.
func advance(head *HeadRow, marks []mark, late bool) (moved bool, err error) {
	before := *head
	marks, added := add(marks, mark{head.Now, head.Seen, head.Links, head.Next})
	head.Top = max(head.Top, head.Seen)
	head.Settled = max(head.Settled, below(marks, head.Now.Add(-openFor)), closed(marks, *head, markEvery))
	if late {
		head.Late = max(head.Late, below(marks, head.Now.Add(-lateFor)), closed(marks, *head, openFor))
	}
	head.Marks, err = json.Marshal(marks)
	return added || head.Top != before.Top || head.Settled != before.Settled || head.Late != before.Late, err
}

// add appends a mark, unless the last is about as new or as high, and drops those that are not needed any more.
func add(marks []mark, m mark) (out []mark, added bool) {
	// The server's clock was ahead: less is known than the marks say.
	for len(marks) > 0 && marks[len(marks)-1].At.After(m.At) {
		marks = marks[:len(marks)-1]
	}
	if n := len(marks); n == 0 || marks[n-1].Top < m.Top && m.At.Sub(marks[n-1].At) >= markEvery {
		marks, added = append(marks, m), true
	}
	for i, k := range marks {
		if i+1 < len(marks) {
			next := marks[i+1]
			age := m.At.Sub(next.At)
			if age >= lateFor || len(out) > 0 && next.At.Sub(out[len(out)-1].At) < age/2 {
				continue
			}
		}
		out = append(out, k)
	}
	return out, added
}

// below returns the number of the newest mark that is no newer than t; 0 if there is none.
func below(marks []mark, t time.Time) (top int64) {
	for _, m := range marks {
		if !m.At.After(t) {
			top = max(top, m.Top)
		}
	}
	return top
}

// closed returns the number of the newest mark behind which no transaction can write any more, as far as the transaction ids of a locked
// head say; 0 if there is none. A transaction draws the number of an event at most an instant before it has an id: the id that counts
// is that of a mark which was made at least as long as after later, and before the head was locked.
func closed(marks []mark, head HeadRow, after time.Duration) (top int64) {
	for i, m := range marks {
		for _, next := range marks[i+1:] {
			if next.Next <= head.Oldest && next.At.Before(head.Now) && next.At.Sub(m.At) >= after {
				top = max(top, m.Top)
			}
		}
	}
	return top
}

// sealedUpTo returns the number of links that are known to seal only events up to a number.
func sealedUpTo(marks []mark, number int64) (links int64) {
	for _, m := range marks {
		if m.Top <= number {
			links = max(links, m.Links)
		}
	}
	return links
}
