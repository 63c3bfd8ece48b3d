package rules

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // an image without files has named time zones too

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// timeParts are the functions that return a part of a timestamp, with the id of the overload that takes a time zone.
var timeParts = map[string]string{
	overloads.TimeGetFullYear: overloads.TimestampToYearWithTz, overloads.TimeGetMonth: overloads.TimestampToMonthWithTz,
	overloads.TimeGetDate: overloads.TimestampToDayOfMonthOneBasedWithTz, overloads.TimeGetDayOfMonth: overloads.TimestampToDayOfMonthZeroBasedWithTz,
	overloads.TimeGetDayOfWeek: overloads.TimestampToDayOfWeekWithTz, overloads.TimeGetDayOfYear: overloads.TimestampToDayOfYearWithTz,
	overloads.TimeGetHours: overloads.TimestampToHoursWithTz, overloads.TimeGetMinutes: overloads.TimestampToMinutesWithTz,
	overloads.TimeGetSeconds: overloads.TimestampToSecondsWithTz,
}

// withoutZone are the overloads of the same functions that take none. They are the library's own.
var withoutZone = []string{
	overloads.TimestampToYear, overloads.TimestampToMonth, overloads.TimestampToDayOfMonthOneBased, overloads.TimestampToDayOfMonthZeroBased,
	overloads.TimestampToDayOfWeek, overloads.TimestampToDayOfYear, overloads.TimestampToHours, overloads.TimestampToMinutes, overloads.TimestampToSeconds,
	overloads.DurationToHours, overloads.DurationToMinutes, overloads.DurationToSeconds,
}

// zoneFunctions declares the overloads with a time zone. Those of the library read the zone's file in each call, which takes some hundred
// times as long as the unit that it is counted as.
func zoneFunctions() []cel.EnvOption {
	var options []cel.EnvOption
	for function, id := range timeParts {
		options = append(options, cel.Function(function, cel.MemberOverload(id,
			[]*types.Type{types.TimestampType, types.StringType}, types.IntType, cel.BinaryBinding(partInZone(function)))))
	}
	return options
}

// partInZone returns the part of a timestamp in a zone of the IANA database, or at an offset such as +02:00.
func partInZone(function string) func(at, zone ref.Val) ref.Val {
	return func(at, zone ref.Val) ref.Val {
		t, ok := at.(types.Timestamp)
		name, named := zone.(types.String)
		if !ok || !named {
			return types.MaybeNoSuchOverloadErr(at)
		}
		if strings.Contains(string(name), ":") {
			return t.Receive(function, "", []ref.Val{zone})
		}
		in, err := zones.load(string(name))
		if err != nil {
			return types.WrapErr(err)
		}
		return types.Timestamp{Time: t.In(in)}.Receive(function, "", nil)
	}
}

// zoneName is the form of the names of the IANA database. Package time knows further ones, which mean what the server is set to, such as
// Local, localtime and posixrules.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// knownZones bounds the zones that are kept. The IANA database has some six hundred; one of them can be spelt in several ways.
const knownZones = 1000

// zones keeps the zones that conditions have used.
var zones = zoneCache{known: map[string]*time.Location{}}

// Zone returns the time zone with a name of the IANA database.
func Zone(name string) (*time.Location, error) { return zones.load(name) }

// zoneCache is safe for concurrent use: the rules of all environments share it.
type zoneCache struct {
	mu    sync.RWMutex
	known map[string]*time.Location
}

// load returns the zone of a name. A name that is no zone is not kept: it may come from a request, and requests could fill the cache with
// such names.
func (c *zoneCache) load(name string) (*time.Location, error) {
	c.mu.RLock()
	zone, ok := c.known[name]
	c.mu.RUnlock()
	if ok {
		return zone, nil
	}
	if !zoneName.MatchString(name) || name == "Local" || name == "Factory" {
		return nil, fmt.Errorf("unknown time zone %s", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= knownZones {
		clear(c.known)
	}
	c.known[strings.Clone(name)] = zone
	return zone, nil
}
