package countersign

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"time"
)

// Page is one page of a list, newest first.
type Page[T any] struct {
	Items []T
	Next  string // the cursor of the page after this one; empty: this was the last
}

func page[T any](ctx context.Context, c *Client, r request, options []RequestOption) (*Page[T], error) {
	p := &Page[T]{}
	header, err := c.do(ctx, r, &p.Items, options)
	if err != nil {
		return nil, err
	}
	p.Next = nextCursor(header.Get("Link"))
	if p.Next != "" && p.Next == r.query.Get("cursor") {
		return nil, &ProtocolError{Operation: r.operation, Status: http.StatusOK, Msg: "the next page is the same page"}
	}
	return p, nil
}

var nextLink = regexp.MustCompile(`<([^>]*)>\s*;[^,]*rel="?next"?`)

// nextCursor reads the cursor out of a Link header (RFC 8288).
func nextCursor(link string) string {
	m := nextLink.FindStringSubmatch(link)
	if m == nil {
		return ""
	}
	target, err := url.Parse(m[1])
	if err != nil {
		return ""
	}
	return target.Query().Get("cursor")
}

// pages iterates over the items of every page that fetch returns.
func pages[T any](cursor string, fetch func(cursor string) (*Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			p, err := fetch(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.Next == "" {
				return
			}
			cursor = p.Next
		}
	}
}

// set puts a value into a query unless it is zero.
func set(q url.Values, name string, value any) {
	if reflect.ValueOf(value).IsZero() {
		return
	}
	if at, ok := value.(time.Time); ok {
		q.Set(name, at.UTC().Format("2006-01-02T15:04:05.000Z"))
		return
	}
	q.Set(name, fmt.Sprint(value))
}
