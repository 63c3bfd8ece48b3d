package progress_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/local/progress"
	"github.com/countersign-dev/countersign/internal/platform/clock"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestPlainLinesAreTenSecondsApart(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := clock.NewFake(noon)
	b := progress.NewAt(&out, false, c)
	for second := range 25 {
		b.Show("compiling net/http", int64(second), 50)
		c.Advance(time.Second)
	}
	require.Equal(t, " 20 % (10 of 50) compiling net/http\n 40 % (20 of 50) compiling net/http\n", out.String())
}

func TestPlainLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		done, total int64
		want        string
	}{
		"without a total":  {1200, 0, "1200 entries\n"},
		"without a number": {0, 0, "entries\n"},
		"with both":        {1, 3, " 33 % (1 of 3) entries\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			clk := clock.NewFake(noon)
			b := progress.NewAt(&out, false, clk)
			clk.Advance(time.Minute)
			b.Show("entries", c.done, c.total)
			b.Close()
			require.Equal(t, c.want, out.String())
		})
	}
}

func TestQuietBarShowsOnlyWhatIsWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := clock.NewFake(noon)
	b := progress.NewAt(&out, true, c)
	c.Advance(time.Hour)
	b.Show("entries", 1, 2)
	_, err := io.WriteString(b, "a sentence\n")
	require.NoError(t, err)
	require.Equal(t, "a sentence\n", out.String())
}

func TestTerminalShowsABar(t *testing.T) {
	t.Parallel()
	if os.Getenv("TERM") == "dumb" {
		t.Skip("a dumb terminal shows plain lines")
	}
	screen, read := terminal(t)
	c := clock.NewFake(noon)
	b := progress.NewAt(screen, false, c)
	for i, show := range []func(){
		func() { b.Show("too early", 1, 0) },
		func() { b.Show("downloading", 3, 0) },
		func() { b.Show("compiling "+strings.Repeat("x", 100)+"/the/end", 1, 4) },
		func() { b.Show("compiling the/last", 2, 5) },
	} {
		c.Advance(time.Duration(min(i, 1)) * time.Second)
		show()
	}
	_, err := io.WriteString(b, "a sentence\n")
	require.NoError(t, err)
	c.Advance(time.Second)
	b.Show("linking", 4, 5)
	b.Close()
	shown := read()
	require.NotContains(t, shown, "too early")
	for _, want := range []string{"downloading", "/the/end", "25%", "(1/4", "█", "compiling the/last", "a sentence\r\n"} {
		require.Contains(t, shown, want)
	}
	require.True(t, strings.HasSuffix(shown, "\r"), "the bar is removed: %q", shown[max(0, len(shown)-40):])
}
