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

var decisionDictionary = NewDictionary(1, decisionPhrases, maxRecord)

// documents returns what Record contains, in its order.
func (a *Authorization) documents() []*[]byte {
	return []*[]byte{(*[]byte)(&a.Assurance), (*[]byte)(&a.Explanation), &a.Response}
}

// PackRecord returns the assurance profile, the explanation and the response as one value for Record, a tenth of their size: a row then
// needs no second place for what does not fit into it.
func (a *Authorization) PackRecord() []byte {
	plain := make([]byte, 0, 4096)
	for _, d := range a.documents() {
		plain = AppendPart(plain, *d)
	}
	return decisionDictionary.Compress(plain)
}

// UnpackRecord sets the profile, the explanation and the response from Record. A row without it was written before there was one, and
// has them in columns of their own.
func (a *Authorization) UnpackRecord() error {
	if len(a.Record) == 0 {
		return nil
	}
	plain, err := decisionDictionary.Decompress(a.Record)
	if err != nil {
		return fmt.Errorf("record of authorization %s: %w", a.ID, err)
	}
	for _, d := range a.documents() {
		if *d, plain, err = CutPart(plain); err != nil {
			return fmt.Errorf("record of authorization %s: %w", a.ID, err)
		}
	}
	return nil
}

// AfterFind implements callbacks.AfterFindInterface of GORM.
func (a *Authorization) AfterFind(*gorm.DB) error { return a.UnpackRecord() }
