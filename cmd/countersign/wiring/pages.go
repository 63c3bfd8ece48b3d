package wiring

import (
	"github.com/countersign-dev/countersign/web"
)

// pages builds what people open in a browser.
func (p *Process) pages() (*web.Site, error) {
	return web.New(web.Config{BaseURL: p.BaseURL, Log: p.Log, OnViolation: p.options.OnViolation}, p.sections()...)
}

// sections are the parts of the site, in no order that matters.
func (p *Process) sections() []web.Section {
	return []web.Section{}
}
