package shell

import (
	"io/fs"

	"github.com/gofiber/fiber/v2"
)

// Record declares the pages of one record: their routes, templates and entry of the navigation.
type Record struct {
	Entry     *Entry // nil for none
	Templates fs.FS  // with the folder templates; nil for none
	Lines     []Line
	// Savable are the filters of the record's list that a user can save, by list, with the values that each may have; nil for an action's key.
	// The text of a search is not saved, because it may name a subject: what is stored of a subject must be exported and erased.
	Savable map[string]map[string][]string
}

// Entry is an entry of the navigation.
type Entry struct {
	Group, Label, Path, Key string
	Right                   Right
	Count                   func(v *Visit) *int64 // of what waits; nil for none
	Alarm                   func(v *Visit) int    // problems; nil for none
}

// Route is one entry of the console's route table.
type Route struct {
	Method string
	Path   string
	Name   string // for logs and metrics
	Right  Right
}

// Line is a route with its handler. A fresh route requires a recent use of the passkey. An unattended route is requested by
// the page's script and does not extend the session. A received route is called by another server.
type Line struct {
	Route
	fresh, unattended bool
	received          bool
	old               bool // lists of records: may be read from a standby
	handler           func(*Visit) error
}

const (
	get  = fiber.MethodGet
	post = fiber.MethodPost
)

func line(method, path, name string, r Right, h func(*Visit) error) Line {
	return Line{Route: Route{method, Prefix + path, "console_" + name, r}, handler: h}
}

// See is a page.
func See(path, name string, r Right, h func(*Visit) error) Line { return line(get, path, name, r, h) }

// SeeAged is a page of records that may be read from a standby of the database.
func SeeAged(path, name string, r Right, h func(*Visit) error) Line {
	l := line(get, path, name, r, h)
	l.old = true
	return l
}

// SeeUnattended is a page that a script reads by itself.
func SeeUnattended(path, name string, r Right, h func(*Visit) error) Line {
	l := line(get, path, name, r, h)
	l.unattended = true
	return l
}

// Change is a form whose change needs no passkey.
func Change(path, name string, r Right, h func(*Visit) error) Line {
	return line(post, path, name, r, h)
}

// Confirmed is a form whose change needs a recent use of the passkey.
func Confirmed(path, name string, r Right, h func(*Visit) error) Line {
	l := line(post, path, name, r, h)
	l.fresh = true
	return l
}

// ChangeUnattended is a form that a script sends by itself.
func ChangeUnattended(path, name string, r Right, h func(*Visit) error) Line {
	l := line(post, path, name, r, h)
	l.unattended = true
	return l
}

// Receive is a request of another server. Its handler authenticates the body.
func Receive(path, name string, r Right, h func(*Visit) error) Line {
	l := line(post, path, name, r, h)
	l.received = true
	return l
}

// Lines are the routes that no record has.
func (c *Shell) Lines() []Line {
	return []Line{
		See("", "home", SignedIn, c.home),
		See("/", "home", SignedIn, c.home),
		See("/:environment", "start", AnyRole, c.start),
	}
}

// Register registers the lines.
func (c *Shell) Register(lines []Line) {
	for _, l := range lines {
		add := c.Router.Get
		switch {
		case l.received:
			add = c.Router.Receive
		case l.Method == post:
			add = c.Router.Post
		}
		add(l.Path, l.Name, c.guard(l))
	}
}
