package action

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-dev/countersign/internal/authz/annotation"
)

// maxPatternWork bounds the total size of the regular expressions of a schema: their characters, their expanded Unicode classes,
// and the instructions of their programs. Matching is linear in the text and in the program. x{1000} is seven characters but a
// thousand instructions, and a few hundred of those would match for minutes.
const maxPatternWork = 10_000

// classWork is the work of one Unicode class such as \pL, which expands to some hundreds of ranges.
const classWork = 100

// pattern is a compiled regular expression with the number of its instructions.
type pattern struct {
	*regexp.Regexp
	size int
}

// patterns compiles the regular expressions of one schema, within maxPatternWork. Until it is sealed it is for one goroutine only.
// Afterwards it only checks the syntax of a text (format: regex of older drafts) and is safe for concurrent use.
type patterns struct {
	compiled map[string]*pattern
	work     int
	refusal  *complexError // the first expression beyond the bound, which the compiler reports as a syntax error
	sealed   bool
}

func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if p.sealed {
		_, err := syntax.Parse(text, syntax.Perl)
		return nil, err
	}
	if done, ok := p.compiled[text]; ok {
		return done, nil
	}
	// Check the text before parsing it and the program before compiling it: each may be large.
	if err := p.addWork(len(text)+classWork*unicodeClasses(text), text); err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := instructions(tree)
	if err := p.addWork(size, text); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	made := &pattern{Regexp: re, size: size}
	p.compiled[text] = made
	return made, nil
}

// addWork adds to the work and refuses the expression that exceeds the bound.
func (p *patterns) addWork(work int, text string) error {
	if p.work += work; p.work > maxPatternWork {
		p.refusal = &complexError{fmt.Sprintf("its regular expressions are larger than %d instructions together, at %q", maxPatternWork, clip(text, 80))}
		return p.refusal
	}
	return nil
}

// unicodeClasses counts the Unicode classes of an expression.
func unicodeClasses(text string) int {
	return strings.Count(text, `\p`) + strings.Count(text, `\P`)
}

// instructions estimates the number of instructions of the program of a regular expression, up to maxPatternWork+1.
func instructions(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		times := max(re.Max, re.Min+1) // Max is -1 for no end
		n = 1 + times*(1+instructions(re.Sub[0]))
	default:
		for _, sub := range re.Sub {
			if n += 1 + instructions(sub); n > maxPatternWork {
				break
			}
		}
	}
	return min(n, maxPatternWork+1)
}

// clip truncates a text that is returned to the caller.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}

// unusablePattern returns the place of the first regular expression of a schema that RE2 cannot match, and why; empty if it can match all.
func unusablePattern(v any, place string) string {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if why := unusablePattern(item, fmt.Sprintf("%s/%d", place, i)); why != "" {
				return why
			}
		}
	case map[string]any:
		if text, is := v["pattern"].(string); is {
			if why := patternFault(text, place+"/pattern"); why != "" {
				return why
			}
		}
		if named, is := v["patternProperties"].(map[string]any); is {
			for _, text := range slices.Sorted(maps.Keys(named)) {
				if why := patternFault(text, place+"/patternProperties"); why != "" {
					return why
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains([]string{"const", "enum", "default", "examples"}, name) { // values, which may have any members
				continue
			}
			if why := unusablePattern(v[name], place+"/"+annotation.Escape(name)); why != "" {
				return why
			}
		}
	}
	return ""
}

// patternFault returns why RE2 cannot match an expression; empty if it can, or if the expression is too large, which is refused as that.
func patternFault(text, place string) string {
	if len(text) > maxPatternWork {
		return ""
	}
	_, err := syntax.Parse(text, syntax.Perl)
	var fault *syntax.Error
	if !errors.As(err, &fault) {
		return ""
	}
	return fmt.Sprintf("%s: the regular expression %q cannot be used: %s: %q. It is matched by RE2, which has no look-ahead, no look-behind and no back-references.",
		place, clip(text, 80), fault.Code, clip(fault.Expr, 40))
}
