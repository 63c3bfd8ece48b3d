//go:build !movableclock

package clock

import "time"

// machine returns the machine's time.
func machine() time.Time { return time.Now() }
