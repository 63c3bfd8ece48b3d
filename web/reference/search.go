package reference

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/gofiber/fiber/v2"
	"github.com/kljensen/snowball/english"

	"github.com/countersign-dev/countersign/internal/platform/displaytext"
	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/reason"
)

// A word scores by its rarity and its place, a passage by the words of the query that it has.
const (
	titleWeight   = 8.0 // against 1 in the text
	headingWeight = 5.0
	saturation    = 6.0 // the weight that scores half of the most
	guideWeight   = 1.5 // of guides against the reference
	namedWeight   = 3.0 // of a passage whose heading has the whole query, such as a path or a code
	exactWeight   = 1e3 // of a passage whose heading is the query, or whose page has it as the title: it is first
)

const (
	mostResults, mostOfPage = 20, 3
	mostAsked, mostWords    = 200, 12 // bytes and words of a query that are read
	contextLength           = 180     // of the line under a result, in bytes
)

// guideKind is the kind of the passages of guides.
const guideKind = "Guide"

// passage is a part of a page that the search finds: what stands under one heading.
type passage struct {
	Kind    string `json:"kind"`
	Page    string `json:"page"`
	Heading string `json:"heading"` // empty for the beginning of a page
	URL     string `json:"url"`
	Line    string `json:"line"` // of a result: the line that contains most of the query

	question string // of a page, which counts as its heading
	lines    []string
}

type posting struct {
	passage int
	weight  float64
}

// index is the full text of the documentation by stems.
type index struct {
	passages []passage
	stems    []string // sorted
	postings map[string][]posting
	known    map[string]word // by the text
}

// passages lists everything that the search finds.
func (s *section) passages() []passage {
	var all []passage
	for _, group := range s.guideGroups {
		for _, g := range group.Guides {
			all = append(all, g.Passages...)
		}
	}
	for _, g := range s.groups {
		for _, op := range g.Operations {
			lines := append([]string{op.Summary, op.ID}, strings.Split(op.source, "\n\n")...)
			all = append(all, passage{Kind: "Operation", Page: g.Name, Heading: op.Method + " " + op.Path, URL: "/docs/operations/" + g.Slug + "#" + op.ID, lines: lines})
		}
	}
	catalogue := problem.Catalogue()
	for _, code := range slices.Sorted(maps.Keys(catalogue)) {
		lines := []string{catalogue[code].Title, problem.Remedy(code)}
		all = append(all, passage{Kind: "Error", Page: "Error codes", Heading: string(code), URL: "/docs/errors#" + string(code), lines: lines})
	}
	rules := problem.Rules()
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		all = append(all, passage{Kind: "Rule of a 422", Page: "Error codes", Heading: rule, URL: ruleURL(rule), lines: []string{rules[rule]}})
	}
	for _, e := range reason.All() {
		lines := []string{e.Description, e.Remedy}
		all = append(all, passage{Kind: "Reason code", Page: "Reason codes", Heading: e.Code, URL: guidePath + "reason-codes#" + e.Kind, lines: lines})
	}
	for _, d := range events.Catalogue() {
		all = append(all, passage{Kind: "Event", Page: "Events", Heading: string(d.Type), URL: "/docs/events#" + string(d.Type), lines: []string{d.Description}})
	}
	for name, found := range s.contract.Components.Schemas.all() {
		all = append(all, passage{Kind: "Schema", Page: "Schemas", Heading: name, URL: schemaURL(name), lines: strings.Split(found.Description, "\n\n")})
	}
	return all
}

func newIndex(passages []passage) *index {
	x := &index{passages: passages, postings: map[string][]posting{}, known: map[string]word{}}
	for i, p := range passages {
		inText := x.count(p.lines...)
		weights := map[string]float64{}
		for stem, n := range inText {
			weights[stem] = 1 + math.Log(n)
		}
		for stem := range x.count(p.Heading, p.question) {
			weights[stem] += headingWeight
		}
		for stem := range x.count(p.Page) {
			weights[stem] += titleWeight
		}
		share := 1.0
		if p.Kind == guideKind {
			share = guideWeight
		}
		for stem, n := range weights {
			x.postings[stem] = append(x.postings[stem], posting{i, share * n / (n + saturation)})
		}
	}
	x.stems = slices.Sorted(maps.Keys(x.postings))
	return x
}

// count returns how often each stem is in the texts, and notes their words.
func (x *index) count(texts ...string) map[string]float64 {
	counts := map[string]float64{}
	for _, text := range texts {
		for _, w := range x.wordsOf(text) {
			x.known[w.text] = w
			counts[w.stem]++
		}
	}
	return counts
}

// word is a word of a text.
type word struct {
	text   string
	stem   string // without case, accents and ending
	common bool   // such as "how"
}

func betweenWords(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) }

func newWord(text string) word {
	plain := displaytext.Fold(text)
	return word{text, english.Stem(plain, false), english.IsStopWord(plain)}
}

func (x *index) wordsOf(text string) []word {
	var words []word
	for text := range strings.FieldsFuncSeq(text, betweenWords) {
		w, ok := x.known[text]
		if !ok {
			w = newWord(text)
		}
		words = append(words, w)
	}
	return words
}

// term is a word of a query, or a phrase that has synonyms: the stems that are looked for in its place, with what each counts.
type term map[string]float64

// terms reads a query. Words that stand in every text count only if there are no others.
func (x *index) terms(query string) []term {
	words := x.wordsOf(query)
	words = words[:min(len(words), mostWords)]
	onlyCommon := !slices.ContainsFunc(words, func(w word) bool { return !w.common })
	var terms []term
	for len(words) > 0 {
		n, others := synonymsOf(words)
		if n > 1 || len(others) > 0 || !words[0].common || onlyCommon {
			t := term{}
			for _, w := range words[:n] {
				x.complete(t, w.stem, 1/float64(n))
			}
			for _, stem := range others {
				t[stem] = 1
			}
			terms = append(terms, t)
		}
		words = words[n:]
	}
	return terms
}

// complete adds a stem and those that begin with it, which count by how much of them was typed.
func (x *index) complete(t term, stem string, weight float64) {
	first, _ := slices.BinarySearch(x.stems, stem)
	for _, longer := range x.stems[first:] {
		if !strings.HasPrefix(longer, stem) {
			break
		}
		t[longer] = max(t[longer], weight*float64(len(stem))/float64(len(longer)))
	}
}

// find returns the passages that match a query, the best first.
func (x *index) find(query string) []passage {
	query = strings.ToValidUTF8(query[:min(len(query), mostAsked)], "")
	terms := x.terms(query)
	scores, matched := map[int]float64{}, map[int]float64{}
	for _, t := range terms {
		best := map[int]float64{}
		for stem, weight := range t {
			for _, p := range x.postings[stem] {
				best[p.passage] = max(best[p.passage], weight*x.rarity(stem)*p.weight)
			}
		}
		for i, score := range best {
			scores[i] += score
			matched[i]++
		}
	}
	whole := displaytext.Fold(query)
	for i := range scores {
		scores[i] *= matched[i] / float64(len(terms))
		switch p := x.passages[i]; {
		case whole == displaytext.Fold(cmp.Or(p.Heading, p.Page)):
			scores[i] *= exactWeight
		case strings.Contains(displaytext.Fold(p.Heading), whole):
			scores[i] *= namedWeight
		}
	}
	order := slices.SortedFunc(maps.Keys(scores), func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	results, ofPage := []passage{}, map[string]int{}
	for _, i := range order {
		p := x.passages[i]
		if ofPage[p.Page]++; ofPage[p.Page] > mostOfPage {
			continue
		}
		p.Line = x.context(p.lines, terms)
		if results = append(results, p); len(results) == mostResults {
			break
		}
	}
	return results
}

func (x *index) rarity(stem string) float64 {
	return math.Log(1 + float64(len(x.passages))/float64(len(x.postings[stem])))
}

// context returns the part of the line that contains most of the terms.
func (x *index) context(lines []string, terms []term) string {
	best, line, from := -1.0, "", ""
	for _, candidate := range lines {
		score, first := 0.0, ""
		found := make([]float64, len(terms))
		for _, w := range x.wordsOf(candidate) {
			for i, t := range terms {
				if worth := t[w.stem]; worth > found[i] {
					if score == 0 {
						first = w.text
					}
					score += (worth - found[i]) * x.rarity(w.stem)
					found[i] = worth
				}
			}
		}
		if score > best {
			best, line, from = score, candidate, first
		}
	}
	return cut(line, strings.Index(line, from))
}

// cut shortens a line to the words around a place.
func cut(line string, at int) string {
	before, after := "", ""
	if at > contextLength/2 {
		line, before = line[strings.LastIndexByte(line[:at-contextLength/4], ' ')+1:], "… "
	}
	if len(line) > contextLength {
		if end := strings.LastIndexByte(line[:contextLength], ' '); end > 0 {
			line, after = line[:end], " …"
		}
	}
	return before + line + after
}

// search shows what a query finds: as a page, or as JSON to the script that searches while the user types.
func (s *section) search(c *fiber.Ctx) error {
	query := c.Query("q")
	results := s.index.find(query)
	if c.Accepts(fiber.MIMETextHTML, fiber.MIMEApplicationJSON) == fiber.MIMEApplicationJSON {
		c.Vary(fiber.HeaderAccept)
		return s.router.JSON(c, fiber.StatusOK, results)
	}
	return s.show(c, "search.html", "Search", nil, results)
}
