package reviews

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
)

func TestHoldSaysWhichHoursItsTimesCount(t *testing.T) {
	t.Parallel()
	calendar := models.Settings{WorkingZone: "Asia/Kolkata", WorkingHours: models.Strings{"mon-fri 09:00-17:00"}}
	for name, c := range map[string]struct {
		working  bool
		settings models.Settings
		text     string
	}{
		"all hours":     {false, calendar, ""},
		"working hours": {true, calendar, "Times count working hours (Asia/Kolkata), as they were set when the step opened."},
		"no calendar":   {true, models.Settings{}, "The policy counts working hours, and the environment has no calendar: the time of a step that opens now counts all hours."},
	} {
		require.Equal(t, c.text, hoursWords(&models.Hold{WorkingHours: c.working}, models.Environment{Settings: c.settings}), name)
	}
}
