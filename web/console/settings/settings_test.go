package settings

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/forms"
)

// Each setting is under a question, and says its default if it has one.
func TestSettingsAreGroupedByTheirQuestion(t *testing.T) {
	t.Parallel()
	e := models.Environment{Kind: models.Live, Settings: models.DefaultSettings(models.Live)}
	e.HoldTTLSeconds, e.BarSelfReview = 3600, false
	fields := settingFields(e)
	require.NotEmpty(t, fields[0].Heading)
	of := func(name string) forms.Field {
		i := slices.IndexFunc(fields, func(f forms.Field) bool { return f.Name == name })
		require.GreaterOrEqual(t, i, 0, name)
		return fields[i]
	}
	questions := forms.Form{Fields: fields}.Headings()
	require.Len(t, questions, 7)
	require.Equal(t, "1 h", of("hold_ttl_seconds").Value)
	require.Equal(t, "3 days", of("hold_ttl_seconds").Usually())
	require.Equal(t, "on", of("bar_self_review").Usually())
	require.Equal(t, "90", of("federated_key_days").Usually())
	require.Empty(t, of("rp_name").Default, "every environment has its own")
}
