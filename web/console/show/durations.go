package show

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// units are the units of a duration, largest first.
var units = []struct {
	name    string
	seconds int
}{{"days", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}}

// Duration writes a number of seconds in the largest unit that divides it.
func Duration(n int) string {
	if n == 86400 {
		return "1 day"
	}
	for _, u := range units {
		if n%u.seconds == 0 {
			return strconv.Itoa(n/u.seconds) + " " + u.name
		}
	}
	return strconv.Itoa(n)
}

var written = regexp.MustCompile(`^([0-9]{1,9})\s*(s|sec|seconds?|min|minutes?|h|hours?|d|days?)?$`)

// ParseDuration reads what durationText writes. A number alone is seconds.
func ParseDuration(text string) (int, error) {
	parts := written.FindStringSubmatch(strings.ToLower(text))
	if parts == nil {
		return 0, errors.New("no duration")
	}
	n, err := strconv.Atoi(parts[1])
	for _, u := range units {
		if parts[2] != "" && parts[2][0] == u.name[0] {
			n *= u.seconds
		}
	}
	return n, err
}
