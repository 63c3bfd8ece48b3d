package tenancy

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// CasePlaceholders are the placeholders of case_link.
var CasePlaceholders = []string{"decision_id", "subject", "action"}

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// checkCaseLink checks the template of a link into the case system. Its host has no placeholder, so that no value of a request
// decides where the link leads.
func checkCaseLink(template string) error {
	refuse := func(rule string) error {
		return problem.Invalid([]any{"body", "case_link"}, rule, "value_error")
	}
	if template == "" {
		return nil
	}
	for _, found := range placeholder.FindAllStringSubmatch(template, -1) {
		if !slices.Contains(CasePlaceholders, found[1]) {
			return refuse("case_link has the unknown placeholder {" + found[1] + "}. Use {decision_id}, {subject} or {action}.")
		}
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(template, "https://"), "/")
	u, err := url.Parse(placeholder.ReplaceAllString(template, "x"))
	switch {
	case strings.ContainsFunc(template, func(r rune) bool { return r <= ' ' || r > '~' }):
		return refuse("case_link must consist of ASCII characters: write an internationalised host in its xn-- form, and encode the rest with percent signs.")
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil:
		return refuse("case_link must be an https URL with a host and without a user name.")
	case strings.ContainsAny(host, "{}"):
		return refuse("case_link must have its placeholders in the path or the query, not in the host.")
	case strings.ContainsAny(placeholder.ReplaceAllString(template, ""), "{}"):
		return refuse("case_link has a brace that begins or ends no placeholder.")
	}
	return nil
}

// CaseLink fills in the template of a link into the case system. Values are escaped. It returns "" for no template.
func CaseLink(template string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(template, func(found string) string {
		return url.QueryEscape(values[strings.Trim(found, "{}")])
	})
}
