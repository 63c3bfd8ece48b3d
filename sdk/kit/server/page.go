package main

import (
	_ "embed" // for the page
	"html/template"
	"net/http"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// listed is a case in the list of all.
type listed struct {
	Path    string `json:"path"`
	File    string `json:"file"`
	Name    string `json:"name"`
	Guard   string `json:"guard"`
	Outcome string `json:"outcome"`
	Calls   string `json:"calls"` // none, as scripted, or how they differ
}

func (p *player) listed() []listed {
	out := make([]listed, 0, len(p.cases))
	for _, c := range p.cases {
		l := listed{Path: c.path(), File: c.File, Name: c.Name, Guard: c.Guard, Outcome: c.Outcome, Calls: "none"}
		if r := p.report(c); len(r.Calls) > 0 {
			l.Calls = "as scripted"
			if !r.AsScripted {
				l.Calls = r.Faults[0]
			}
		}
		out = append(out, l)
	}
	return out
}

func (p *player) page(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pageTemplate.Execute(w, p.listed()) // the connection has ended
}
