package configfile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/internal/platform/canonical"
)

// Field is a property whose value differs. A nil value is none.
type Field struct {
	Path          string // dotted, such as requirements.coverage_min
	Before, After any
}

// logoPath is the path of the one property that is compared as a picture.
const logoPath = "brand.logo"

// differences returns the properties given in after that are different in before. Properties that after leaves out are not
// managed by the file; within a policy, a schema or a rule, they are.
func differences(before, after any) ([]Field, error) {
	was, err := convert[map[string]any](before)
	if err != nil {
		return nil, err
	}
	is, err := convert[map[string]any](after)
	if err != nil {
		return nil, err
	}
	return given("", was, is), nil
}

func given(at string, was, is map[string]any) []Field {
	var out []Field
	for _, key := range slices.Sorted(maps.Keys(is)) {
		path := at + key
		if key == "brand" || key == "passkeys" { // whose properties are settings of their own
			before, _ := was[key].(map[string]any)
			after, _ := is[key].(map[string]any)
			out = append(out, given(path+".", before, after)...)
			continue
		}
		out = append(out, compare(path, was[key], is[key])...)
	}
	return out
}

func compare(path string, was, is any) []Field {
	if same(path, was, is) {
		return nil
	}
	before, after := members(was), members(is)
	if before == nil || after == nil || !slices.Equal(order(was, before), order(is, before)) {
		return []Field{{path, was, is}}
	}
	open, end := ".", ""
	if _, list := is.([]any); list {
		open, end = "[", "]"
	}
	var out []Field
	both := maps.Clone(before)
	maps.Copy(both, after)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		out = append(out, compare(path+open+key+end, before[key], after[key])...)
	}
	return out
}

// members returns the properties of a mapping, or the items of a list by their names if each has a different one, as rules have;
// nil for anything else.
func members(v any) map[string]any {
	if m, is := v.(map[string]any); is {
		return m
	}
	list, _ := v.([]any)
	out := map[string]any{}
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" || out[name] != nil {
			return nil
		}
		out[name] = item
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// order returns the names of the items of a list that are in of, in their order; nil for a mapping.
func order(v any, of map[string]any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if name := item.(map[string]any)["name"].(string); of[name] != nil {
			out = append(out, name)
		}
	}
	return out
}

func same(path string, a, b any) bool {
	if path == logoPath {
		return samePicture(a, b)
	}
	return bytes.Equal(form(a), form(b))
}

// form is the canonical form of a value, or its JSON if a number in it has none.
func form(v any) []byte {
	if out, err := canonical.JSON(v); err == nil {
		return out
	}
	out, _ := json.Marshal(v) // values that came from JSON
	return out
}

// samePicture compares the pixels of two logos: the service encodes the PNG that it is given again.
func samePicture(a, b any) bool {
	if a == b {
		return true
	}
	x, y := picture(a), picture(b)
	if x == nil || y == nil || x.Bounds() != y.Bounds() {
		return false
	}
	for i := x.Bounds().Min.Y; i < x.Bounds().Max.Y; i++ {
		for j := x.Bounds().Min.X; j < x.Bounds().Max.X; j++ {
			r1, g1, b1, a1 := x.At(j, i).RGBA()
			r2, g2, b2, a2 := y.At(j, i).RGBA()
			if r1 != r2 || g1 != g2 || b1 != b2 || a1 != a2 {
				return false
			}
		}
	}
	return true
}

// maxSide is the longest side of a logo in pixels that the service accepts. It bounds the memory of decoding.
const maxSide = 1024

func picture(v any) image.Image {
	text, _ := v.(string)
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	c, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil || c.Width > maxSide || c.Height > maxSide {
		return nil
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	return img
}

// String is the difference in one line.
func (f Field) String() string {
	return fmt.Sprintf("%s: %s -> %s", f.Path, f.show(f.Before), f.show(f.After))
}

func (f Field) show(v any) string {
	if text, is := v.(string); is && f.Path == logoPath && text != "" {
		return fmt.Sprintf("a PNG of %d bytes", base64.StdEncoding.DecodedLen(len(text)))
	}
	if v == nil {
		return "(none)"
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out) // escapes control characters, which a terminal would follow
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return string(bytes.TrimSpace(out.Bytes()))
}
