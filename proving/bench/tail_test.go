package bench_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/proving/bench"
)

func TestWorstMinuteIsThatOfTheHighestP99(t *testing.T) {
	t.Parallel()
	line := bench.NewTimeline(150 * time.Second)
	for i := range 15000 {
		due := time.Duration(i) * 10 * time.Millisecond
		took := time.Millisecond
		if due >= 60*time.Second && i%20 == 0 { // one in twenty of the second and third minute
			took = 7 * time.Millisecond
		}
		if due >= 120*time.Second && i%40 == 0 {
			took = 9 * time.Millisecond
		}
		line.Add(due, took)
	}
	minute, p99 := line.WorstMinute()
	require.Equal(t, 2, minute, "the last minute is half a one")
	require.Equal(t, 9*time.Millisecond, p99)
}

func TestPictureIsWellFormedAndNeedsNoOtherFile(t *testing.T) {
	t.Parallel()
	for name, draw := range map[string]func(line *bench.Timeline){
		"nothing measured": func(*bench.Timeline) {},
		"latencies only":   func(line *bench.Timeline) { line.Add(0, time.Millisecond) },
		"with samples": func(line *bench.Timeline) {
			line.Add(time.Minute, 90*time.Millisecond) // beyond the end: it belongs to the last second
			now := time.Now()
			<-time.After(1500 * time.Millisecond) // of the clock of the bubble
			line.Sample(bench.Sample{At: now}, bench.Sample{At: time.Now(), CPU: map[string]time.Duration{"API": time.Second}, Checkpoints: 1, Vacuums: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				line := bench.NewTimeline(3 * time.Second)
				draw(line)
				picture := line.SVG("Decisions <at> 5/s")
				require.Contains(t, picture, "Decisions &lt;at&gt; 5/s")
				require.NotContains(t, picture, "NaN")
				require.NotContains(t, picture, "Inf")
				require.NotContains(t, picture, "href")
				require.Equal(t, name == "with samples", strings.Contains(picture, ">API</text>"))
				for x := xml.NewDecoder(strings.NewReader(picture)); ; {
					if _, err := x.Token(); err != nil {
						require.ErrorIs(t, err, io.EOF)
						return
					}
				}
			})
		})
	}
}
