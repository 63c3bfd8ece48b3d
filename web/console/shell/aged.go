package shell

import (
	"fmt"

	"github.com/countersign-dev/countersign/internal/platform/pg"
)

// mayBeOld lets a page of records be read from the standby, if there is one, and reads it again from the primary if that fails. A page
// that its script reads again was notified of a change, which the standby may not have yet.
func mayBeOld(handler func(*Visit) error) func(*Visit) error {
	return func(v *Visit) error {
		if v.Get(RefreshHeader) != "" {
			return handler(v)
		}
		fresh := v.Context
		v.Context, v.aged = pg.MayBeOld(fresh)
		err := handler(v)
		if _, old := v.aged.Age(); !old || err == nil {
			return err
		}
		v.Context, v.aged = fresh, nil
		return handler(v)
	}
}

// age says how old the records of the page may be; empty if they came from the primary.
func (v *Visit) age() string {
	if v.aged == nil {
		return ""
	}
	age, old := v.aged.Age()
	if !old {
		return ""
	}
	return fmt.Sprintf("Read from a standby of the database: the records may be up to %.1f s old.", age.Seconds()+.05)
}
