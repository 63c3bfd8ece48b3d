package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/policy"
	"github.com/countersign-dev/countersign/internal/authz/rules"
)

// Months, days and weekdays that never occur are refused in a new version, with the way in which they count. A stored version keeps
// deciding as it did, with a warning.
func TestPartOfATimeThatNeverOccursIsRefused(t *testing.T) {
	t.Parallel()
	for when, why := range map[string]string{
		`now.getMonth() == 12`:                                    "line 1 column 19: getMonth is 0 to 11 and never 12: January is 0 and December 11",
		`now.getMonth("Asia/Tokyo") in [0, 12]`:                   "getMonth is 0 to 11 and never 12",
		`13 <= now.getMonth()`:                                    "getMonth is 0 to 11 and never 13",
		`now.getDayOfWeek("Europe/Rome") == 7`:                    "getDayOfWeek is 0 to 6 and never 7: Sunday is 0 and Saturday 6",
		`now.getDayOfWeek() != -1`:                                "never -1",
		`now.getDate() < 1 || now.getDate() == 0`:                 "getDate is 1 to 31 and never 0",
		`now.getDayOfMonth() == 31`:                               "getDayOfMonth is 0 to 30 and never 31: the first day of a month is 0; getDate counts from 1",
		`now.getDayOfYear("+02:00") > 366`:                        "getDayOfYear is 0 to 365",
		`now.getHours() == 25`:                                    "getHours is 0 to 23",
		`now.getMinutes() >= 61`:                                  "getMinutes is 0 to 59",
		`timestamp("2026-01-01T00:00:00Z").getMonth() == 12`:      "getMonth is 0 to 11",
		`now.getHours() < 24 && now.getDate() in [1, 15, 31]`:     "",
		`now.getMonth() == 11 || now.getMonth() == 0`:             "",
		`now.getDayOfWeek("Europe/Rome") in [0, 6]`:               "",
		`subject.age.getHours() > 72 && now.getFullYear() > 2026`: "",
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			list := []policy.Rule{{Name: "time", When: when, Requirements: policy.Stricter{ExplicitApprovalRequired: true}, Reason: "Time"}}
			_, faults := rules.Compile(list, nil)
			var codes []string
			for _, w := range rules.Warnings(policy.Requirements{CoverageMin: policy.CoverageNone, ApprovalCompensates: []string{}, Rules: list}, nil) {
				codes = append(codes, w.Code)
			}
			if why == "" {
				require.Empty(t, faults)
				require.Empty(t, codes)
				return
			}
			require.NotEmpty(t, faults)
			require.Contains(t, faults[0].Error(), why)
			require.Contains(t, codes, rules.WarnNever)
			for _, m := range rules.CompileStored(list, nil).Match(t.Context(), rules.Vars{}) {
				require.False(t, m.Failed, "a stored rule is still evaluated")
			}
		})
	}
}
