package models

import (
	_ "embed"
	"fmt"

	"gorm.io/gorm"
)

//go:embed dictionaries/event-1.txt
var eventPhrases string

var eventDictionary = NewDictionary(1, eventPhrases, maxRecord)

// typeDecided is the type of the event that each decision writes. The data of other types stay JSON: there are few of them, and some are
// read by SQL.
const typeDecided = "authorization.decided"

// Pack returns the data of a decision's event as one value for Packed, a third of their size; nil for any other event.
func (e *Event) Pack() []byte {
	if e.Type != typeDecided || e.Data == nil {
		return nil
	}
	s := newScratch()
	defer s.free()
	var ok bool
	if s.document, ok = appendShort(s.document, e.Data); !ok {
		return nil
	}
	return eventDictionary.compress(s, s.document)
}

// Unpack sets Data from Packed.
func (e *Event) Unpack() error {
	if len(e.Packed) == 0 {
		return nil
	}
	short, err := eventDictionary.Decompress(e.Packed)
	if err == nil {
		e.Data, _, err = cutShort(short)
	}
	if err != nil {
		return fmt.Errorf("data of event %s: %w", e.ID, err)
	}
	return nil
}

// AfterFind implements callbacks.AfterFindInterface of GORM. Data that cannot be read are as if there were none: an audit has to read the
// event to report that it was altered.
func (e *Event) AfterFind(*gorm.DB) error {
	if e.Unpack() != nil {
		e.Data = nil
	}
	return nil
}
