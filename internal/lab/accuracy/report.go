package accuracy

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Number is a figure that may be missing. JSON has no NaN.
type Number float64

// MarshalJSON writes null for a missing number.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Figure is one measured number with its 95 % bootstrap interval over people.
// Shares are fractions with the unit %.
type Figure struct {
	Protocol string `json:"protocol"`
	Set      string `json:"set"`
	Case     string `json:"case"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	Value    Number `json:"value"`
	Low      Number `json:"low"`
	High     Number `json:"high"`
	Sample   string `json:"sample"`
	Note     string `json:"note,omitempty"` // a published figure or a target to compare with
}

// Curve is a detection error trade-off: the false non-match rate at each false
// match rate.
type Curve struct {
	Protocol string       `json:"protocol"`
	Set      string       `json:"set"`
	Case     string       `json:"case"`
	Points   [][2]float64 `json:"points"` // [false match rate, false non-match rate]
}

// Report is everything that one measurement found.
type Report struct {
	ModelVersion  string   `json:"model_version"`
	RuleVersion   string   `json:"rule_version"`
	SchemaVersion string   `json:"feature_schema_version"`
	Sets          []string `json:"sets"`
	Figures       []Figure `json:"figures"`
	Curves        []Curve  `json:"curves"`
	Notes         []string `json:"notes"`
}

// Find returns the first figure of a protocol whose set, case and metric contain
// the given parts.
func (r Report) Find(protocol, set, kase, metric string) (Figure, bool) {
	for _, f := range r.Figures {
		if f.Protocol == protocol && strings.Contains(f.Set, set) && strings.Contains(f.Case, kase) && strings.Contains(f.Metric, metric) {
			return f, true
		}
	}
	return Figure{}, false
}

// Markdown formats the report as tables, one for each protocol and set.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Measured accuracy\n\nModel `%s`, rules `%s`, features `%s`. Brackets are 95 %% bootstrap intervals over people.\n",
		r.ModelVersion, r.RuleVersion, r.SchemaVersion)
	last := ""
	for _, f := range r.Figures {
		if head := f.Protocol + " on " + f.Set; head != last {
			fmt.Fprintf(&b, "\n## %s\n\n| case | metric | value | interval | sample | compare |\n|---|---|---|---|---|---|\n", head)
			last = head
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.Case, f.Metric, f.format(f.Value), f.interval(), f.Sample, f.Note)
	}
	if len(r.Notes) > 0 {
		b.WriteString("\n## Notes\n\n")
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "- %s\n", n)
		}
	}
	return b.String()
}

// format formats a value of the figure with its unit; a missing value is a hyphen.
func (f Figure) format(v Number) string {
	x := float64(v)
	switch {
	case math.IsNaN(x):
		return "-"
	case f.Unit == "%":
		return fmt.Sprintf("%.2f %%", 100*x)
	case f.Unit == "":
		return fmt.Sprintf("%.4f", x)
	}
	return fmt.Sprintf("%.2f %s", x, f.Unit)
}

// interval formats the interval in brackets; it is empty if there is none.
func (f Figure) interval() string {
	if math.IsNaN(float64(f.Low)) {
		return ""
	}
	return fmt.Sprintf("[%s, %s]", strings.TrimSuffix(f.format(f.Low), " %"), strings.TrimSuffix(f.format(f.High), " %"))
}

// Write writes accuracy.md, accuracy.json, one SVG for each protocol and set, and the
// learning curves of a played deployment into a folder, and creates the folder if it
// is missing.
func (r Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("accuracy: %w", err)
	}
	body, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("accuracy: %w", err)
	}
	files := map[string][]byte{"accuracy.md": []byte(r.Markdown()), "accuracy.json": append(body, '\n')}
	groups := map[string][]Curve{}
	for _, c := range r.Curves {
		name := "det-" + slug(c.Protocol+"-"+c.Set) + ".svg"
		groups[name] = append(groups[name], c)
	}
	for name, curves := range groups {
		files[name] = []byte(DET(curves))
	}
	for _, l := range learnedFigures {
		if curves := learningCurves(r.Figures, l.has); len(curves) > 0 {
			files[l.file] = []byte(LearningCurve(l.title, curves))
		}
	}
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			return fmt.Errorf("accuracy: %w", err)
		}
	}
	return nil
}

// slug makes a file name of a title.
func slug(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return '-'
	}, s)
}
