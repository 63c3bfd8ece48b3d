package rules

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/countersign-dev/countersign/internal/platform/localtime"
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
		in, err := localtime.Zone(string(name))
		if err != nil {
			return types.WrapErr(err)
		}
		return types.Timestamp{Time: t.In(in)}.Receive(function, "", nil)
	}
}
