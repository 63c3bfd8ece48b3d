package reference

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/countersign-dev/countersign/docs"
)

// repository is where files are that are not among the guides.
const repository = "https://github.com/countersign-dev/countersign/blob/main/"

// guidePath is the path of the guides.
const guidePath = "/docs/guides/"

// readers are the sections of docs/README.md whose guides are shown. Contributors read them beside the code.
var readers = []string{"Integrator", "Operator", "Reviewer", "Auditor"}

// guide is one page of docs.
type guide struct {
	File, URL, Title, Question string
	Headings                   []link    // of its contents
	Passages                   []passage // of all its headings
	HTML                       template.HTML
}

// guideGroup are the guides of one kind of reader.
type guideGroup struct {
	Reader, Task string
	Guides       []*guide
}

var (
	sectionHeading = regexp.MustCompile(`^## (\w+): (.+)$`)
	indexRow       = regexp.MustCompile(`^\| \[([^\]]+)\]\([^)]+\) \| (.+) \|$`)
	lineOfHash     = regexp.MustCompile(`(?m)^#`)
	notInID        = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// guidesOf reads the index of the guides and renders each.
func (s *section) guidesOf() ([]guideGroup, error) {
	index, err := fs.ReadFile(docs.Files, "README.md")
	if err != nil {
		return nil, err
	}
	var groups []guideGroup
	for line := range strings.SplitSeq(string(index), "\n") {
		if m := sectionHeading.FindStringSubmatch(line); m != nil {
			groups = append(groups, guideGroup{Reader: m[1], Task: m[2]})
		} else if m := indexRow.FindStringSubmatch(line); m != nil && len(groups) > 0 {
			last := &groups[len(groups)-1]
			name := strings.TrimSuffix(m[1], ".md")
			last.Guides = append(last.Guides, &guide{File: m[1], URL: guidePath + name, Question: strings.ReplaceAll(m[2], "`", "")})
		}
	}
	shown := groups[:0]
	for _, g := range groups {
		for _, reader := range readers {
			if g.Reader == reader {
				shown = append(shown, g)
			}
		}
	}
	for _, g := range shown {
		for _, one := range g.Guides {
			s.guides[strings.TrimSuffix(one.File, ".md")] = one
		}
	}
	for _, one := range s.guides {
		if err := s.renderGuide(one); err != nil {
			return nil, fmt.Errorf("docs/%s: %w", one.File, err)
		}
	}
	return shown, nil
}

// renderer renders Markdown without raw HTML, and without the style attribute of aligned columns, which the pages' policy refuses.
var renderer = goldmark.New(goldmark.WithExtensions(
	extension.Linkify, extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.Strikethrough, extension.TaskList,
), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// renderGuide sets the title, the headings and the content of a guide.
func (s *section) renderGuide(g *guide) error {
	source, err := fs.ReadFile(docs.Files, g.File)
	if err != nil {
		return err
	}
	tree := renderer.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&headingIDs{}))))
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			s.heading(g, n, source)
		case *ast.Link:
			n.Destination = []byte(s.destination(g.File, string(n.Destination)))
		case *table.TableCell:
			if n.Alignment == table.AlignRight {
				n.SetAttributeString("class", []byte("number"))
			}
		case *ast.Paragraph, *ast.TextBlock, *table.TableHeader, *table.TableRow:
			g.add(plainText(n, source))
		case *ast.FencedCodeBlock:
			for line := range strings.SplitSeq(string(n.Lines().Value(source)), "\n") {
				g.add(line)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := renderer.Renderer().Render(&b, source, tree); err != nil {
		return err
	}
	g.HTML = scrollable(b.String())
	return nil
}

// add adds a line to the passage under the last heading.
func (g *guide) add(line string) {
	last := &g.Passages[len(g.Passages)-1]
	last.lines = append(last.lines, line)
}

// heading notes the title of a guide, the headings of its contents, and where each passage begins.
func (s *section) heading(g *guide, n *ast.Heading, source []byte) {
	words := plainText(n, source)
	if n.Level == 1 && g.Title == "" {
		g.Title = words
		g.Passages = []passage{{Kind: guideKind, Page: words, URL: g.URL, question: g.Question}}
		return
	}
	n.Level = max(n.Level, 2) // a page has one title
	id, _ := n.AttributeString("id")
	name, ok := id.([]byte)
	if !ok {
		return
	}
	g.Passages = append(g.Passages, passage{Kind: guideKind, Page: g.Title, Heading: words, URL: g.URL + "#" + string(name)})
	if n.Level == 2 {
		g.Headings = append(g.Headings, link{URL: "#" + string(name), Text: words})
	}
}

func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
			} else if n.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *table.TableCell:
			if !entering && n.NextSibling() != nil {
				b.WriteString(" · ")
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// destination turns a link between files into one between pages. What is no page is in the repository.
func (s *section) destination(file, target string) string {
	if target == "" || target[0] == '#' || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return target
	}
	name, anchor, found := strings.Cut(target, "#")
	if found {
		anchor = "#" + anchor
	}
	joined := path.Join("docs", path.Dir(file), name)
	if inside, ok := strings.CutPrefix(joined, "docs/"); ok {
		page := strings.TrimSuffix(inside, ".md")
		if page == "README" {
			return "/docs" + anchor
		}
		if page == docs.VerifierName {
			return verifierPath
		}
		if s.guides[page] != nil {
			return guidePath + page + anchor
		}
	}
	return repository + joined + anchor
}

// markdown renders a description of the contract.
func (s *section) markdown(source string) template.HTML {
	if source == "" {
		return ""
	}
	var b bytes.Buffer
	source = lineOfHash.ReplaceAllString(source, `\#`) // a description has no headings
	if err := renderer.Convert([]byte(source), &b); err != nil {
		return template.HTML(template.HTMLEscapeString(source)) //nolint:gosec // escaped
	}
	return scrollable(b.String())
}

// scrollable lets keyboards scroll wide tables and code in boxes of their own.
func scrollable(rendered string) template.HTML {
	boxes := strings.NewReplacer(
		"<pre>", `<pre tabindex="0">`,
		"<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`, "</table>", "</table></div>",
	)
	return template.HTML(boxes.Replace(rendered)) //nolint:gosec // rendered from files of this repository, without raw HTML
}

// headingIDs makes the same ids as GitHub, for which the links in the guides are written.
type headingIDs struct{ used map[string]int }

// Generate returns the id of a heading.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	plain := notInID.ReplaceAllString(strings.ToLower(string(value)), "")
	id := strings.ReplaceAll(strings.TrimSpace(plain), " ", "-")
	if h.used == nil {
		h.used = map[string]int{}
	}
	n := h.used[id]
	h.used[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put is called for ids that are set in the text, which no guide does.
func (*headingIDs) Put([]byte) {}
