package models

import (
	_ "embed"
	"fmt"

	"gorm.io/gorm"
)

// maxRecord is the size in bytes up to which the documents of a decision are read. They have about 5 kB.
const maxRecord = 1 << 20

//go:embed dictionaries/decision-1.txt
var decisionPhrases string

//go:embed dictionaries/decision-2.txt
var shortDecisionPhrases string

// The versions of records: in the second, digests and ids are bytes.
var (
	decisionDictionary      = NewDictionary(1, decisionPhrases, maxRecord)
	shortDecisionDictionary = NewDictionary(2, shortDecisionPhrases, maxRecord)
)

// documents returns what Record contains, in its order.
func (a *Authorization) documents() [3]*[]byte {
	return [...]*[]byte{(*[]byte)(&a.Assurance), (*[]byte)(&a.Explanation), &a.Response}
}

// PackRecord returns the assurance profile, the explanation and the response as one value for Record, a tenth of their size: a row then
// needs no second place for what does not fit into it.
func (a *Authorization) PackRecord() []byte {
	s := newScratch()
	defer s.free()
	for _, d := range a.documents() {
		var ok bool
		if s.document, ok = appendShort(s.document, *d); !ok {
			return a.packLong()
		}
	}
	return shortDecisionDictionary.compress(s, s.document)
}

// packLong returns the documents as they are, as binaries before schema 65 read them too.
func (a *Authorization) packLong() []byte {
	s := newScratch()
	defer s.free()
	for _, d := range a.documents() {
		s.document = AppendPart(s.document, *d)
	}
	return decisionDictionary.compress(s, s.document)
}

// PackFor returns PackRecord, or a record that binaries before schema 65 read too.
func (a *Authorization) PackFor(short bool) []byte {
	if short {
		return a.PackRecord()
	}
	return a.packLong()
}

// UnpackRecord sets the profile, the explanation and the response from Record, and the digests from Digests. A row without them was written
// before there were any, and has columns of their own.
func (a *Authorization) UnpackRecord() error {
	if err := a.unpackDigests(); err != nil {
		return err
	}
	if len(a.Record) == 0 {
		return nil
	}
	dictionary, cut := decisionDictionary, CutPart
	if a.Record[0] == shortDecisionDictionary.version {
		dictionary, cut = shortDecisionDictionary, cutShort
	}
	plain, err := dictionary.Decompress(a.Record)
	if err != nil {
		return fmt.Errorf("record of authorization %s: %w", a.ID, err)
	}
	for _, d := range a.documents() {
		if *d, plain, err = cut(plain); err != nil {
			return fmt.Errorf("record of authorization %s: %w", a.ID, err)
		}
	}
	return nil
}

// AfterFind implements callbacks.AfterFindInterface of GORM, for Find and Take: what Scan reads is still packed.
func (a *Authorization) AfterFind(*gorm.DB) error { return a.UnpackRecord() }
