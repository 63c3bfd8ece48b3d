package progress_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/progress"
)

func TestLinesAreCountedAndPassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var data, shown bytes.Buffer
		w := progress.New(&shown, false).Lines(&data, "entries exported")
		for i := range 5 {
			_, err := fmt.Fprintf(w, "%d\n", i)
			require.NoError(t, err)
			<-time.After(6 * time.Second) // of the clock of the bubble
		}
		require.Equal(t, "0\n1\n2\n3\n4\n", data.String())
		require.Equal(t, "3 entries exported\n5 entries exported\n", shown.String(), "a line every ten seconds")
	})
}

func TestTimePassesUntilTheWorkEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lasts time.Duration
		want  string
	}{
		"a known duration":             {40 * time.Second, " 25 % (10 of 40) breaking things\n 50 % (20 of 40) breaking things\n"},
		"a duration that is too short": {15 * time.Second, " 66 % (10 of 15) breaking things\n100 % (15 of 15) breaking things\n"},
		"an unknown duration":          {0, "10 breaking things\n20 breaking things\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var shown bytes.Buffer
				stop := progress.New(&shown, false).During("breaking things", c.lasts)
				<-time.After(25*time.Second + time.Millisecond) // of the clock of the bubble
				stop()
				<-time.After(time.Minute)
				require.Equal(t, c.want, shown.String())
			})
		})
	}
}
