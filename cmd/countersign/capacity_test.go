package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCapacityNamesTheFlagAndTheRule(t *testing.T) {
	c := newCLI(t, "")
	for says, line := range map[string]string{
		"--decisions is not set: give the average rate":               "capacity",
		`--decisions is "100": want a number above 0`:                 "capacity --decisions 100",
		`--challenges is "2": want a share of the decisions`:          "capacity --decisions 1/s --challenges 2",
		"--challenges and --holds are together 130% of the decisions": "capacity --decisions 1/s --challenges 60% --holds 70%",
		`--retention is "never": want a time from 1h to 36500d`:       "capacity --decisions 1/s --retention never",
		"--peak is 0.5: want a number from 1 to 100":                  "capacity --decisions 1/s --peak .5",
		"--machines is 1: want a number from 2 to 10000":              "capacity --decisions 1/s --machines 1",
		"--frames-per-decision is NaN: want a number from 0 to 10000": "capacity --decisions 1/s --frames-per-decision NaN",
		"--costs: open /no/such.json: no such file or directory":      "capacity --decisions 1/s --costs /no/such.json",
		"--json and --values are both set: choose one":                "capacity --decisions 1/s --json --values",
		"unknown flag: --decision (did you mean --decisions?)":        "capacity --decision 1/s",
	} {
		_, err := c.run(strings.Fields(line)...)
		require.ErrorContains(t, err, says, line)
		require.ErrorIs(t, err, errUsage, line)
	}
}

func TestCapacityOfAMillionDecisionsAMinute(t *testing.T) {
	c := newCLI(t, "")
	text := c.ok("capacity", "--decisions", "16700/s", "--challenges", "1%")
	for _, row := range []string{
		`CPU of the API +[\d.]+ cores +x 2 +[\d.]+ cores`, `  decision +[\d.]+ ms +16700/s +[\d.]+`, `  challenge +[\d.]+ ms +167/s`, `write-ahead log +\d+ MB/s`,
		`frames: frame +[\d.]+ B +66800/s for 90d`, `connections to Postgres`, `decision: authorize, allow and proof \(300/s open\); .*make bench PART=`,
	} {
		require.Regexp(t, row, text)
	}
	figures := func(rate string) map[string]float64 {
		var plan struct {
			Figures []struct {
				ID      string
				Planned float64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(c.ok("capacity", "--decisions", rate, "--json")), &plan))
		out := map[string]float64{}
		for _, f := range plan.Figures {
			out[f.ID] = f.Planned
		}
		return out
	}
	once, twice := figures("1M/min"), figures("2M/min")
	require.Len(t, once, 11)
	for id, planned := range once {
		require.Greater(t, twice[id], planned, id)
	}
}

// The manifests have the sizes of one documented load; deploy/helm is made of them.
func TestTheChartHasTheSizesOfItsLoad(t *testing.T) {
	values, err := os.ReadFile("../../deploy/helm/countersign/values.yaml")
	require.NoError(t, err)
	for line := range strings.Lines(newCLI(t, "").ok("capacity", "--decisions", "200/s", "--values")) {
		if name, setting, ok := strings.Cut(line, ": {GOMEMLIMIT: "); ok && name == "settings" {
			line = "  GOMEMLIMIT: \"" + strings.TrimSuffix(setting, "}\n") + "\"\n"
		}
		require.Contains(t, string(values), line, "change deploy/kubernetes, then run make chart")
	}
}
