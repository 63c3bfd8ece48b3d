package tenancy

import (
	"maps"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/webname"
)

// forms are the canonical forms in which texts of settings are stored, by the path of the setting. A text that has none is refused. A setting
// without an entry is stored as it is given.
var forms = map[string]func(string) (string, error){
	"origins": passkeyOrigin, "page_origin": passkeyOrigin, "return_origins": pageOrigin, "frame_ancestors": pageOrigin,
	"passkeys.rp_ids": webname.RPID, "passkeys.related_origins": pageOrigin,
	"working_hours": hoursForm, "holidays": dateForm,
	"brand.name": trimmed, "brand.accent": accentOf,
}

func trimmed(text string) (string, error) { return strings.TrimSpace(text), nil }

// Canonical returns settings, as JSON decodes them, in the forms in which they are stored, so that they can be compared with stored ones. What
// would be refused is returned as it is.
func Canonical(in Settings) Settings {
	if given, err := in.withHolidays(); err == nil {
		in = given
	}
	return canonical("", in)
}

func canonical(at string, in map[string]any) map[string]any {
	out := maps.Clone(in)
	for name, value := range in {
		form := func(v any) any { return canonicalText(at+name, v) }
		switch v := value.(type) {
		case map[string]any:
			out[name] = canonical(at+name+".", v)
		case []any:
			list := make([]any, len(v))
			for i, item := range v {
				list[i] = form(item)
			}
			out[name] = list
		default:
			out[name] = form(v)
		}
	}
	return out
}

func canonicalText(path string, value any) any {
	text, is := value.(string)
	if form := forms[path]; is && form != nil {
		if stored, err := form(text); err == nil {
			return stored
		}
	}
	return value
}
