package models_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

func TestPeriodNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		period   models.Period
		at, want string
	}{
		"within a week":            {models.Weekly, "2026-11-25T13:00:00Z", "2026-11-30T00:00:00Z"},
		"on a Monday":              {models.Weekly, "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"},
		"on a Sunday":              {models.Weekly, "2026-11-29T23:59:59Z", "2026-11-30T00:00:00Z"},
		"a week over the year":     {models.Weekly, "2026-12-30T00:00:00Z", "2027-01-04T00:00:00Z"},
		"a time zone ahead of UTC": {models.Weekly, "2026-11-30T01:00:00+02:00", "2026-11-30T00:00:00Z"},
		"within a month":           {models.Monthly, "2026-11-25T13:00:00Z", "2026-12-01T00:00:00Z"},
		"the first of a month":     {models.Monthly, "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		"the last day of January":  {models.Monthly, "2027-01-31T12:00:00Z", "2027-02-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err := time.Parse(time.RFC3339, c.at)
			require.NoError(t, err)
			require.Equal(t, c.want, c.period.Next(at).Format(time.RFC3339))
		})
	}
}
