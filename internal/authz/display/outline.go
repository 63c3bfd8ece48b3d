package display

import "slices"

// Outline is a request in one line of a list. Its values are among the details.
type Outline struct {
	// Title names the request, such as the payee of a payment; empty if no detail does.
	Title string
	// Amount is the first amount of money; empty if there is none.
	Amount string
	// Identifying are the details by which other requests to the same payee or account are found.
	Identifying []Detail
}

// Outlined returns the outline of a request from its details.
func Outlined(details []Detail) Outline {
	var out Outline
	for _, d := range details {
		switch {
		case d.Title:
			out.Title = d.Value
			out.Identifying = append(out.Identifying, d)
		case d.Format == Money && out.Amount == "":
			out.Amount = d.Value
		case d.Format == Account:
			out.Identifying = append(out.Identifying, d)
		}
	}
	return out
}

// title returns the index of the rule whose value names a request: the one that is marked, otherwise the first text of the context, and
// otherwise the first value that is no amount. It returns -1 if there is none.
func (p Plan) title() int {
	for _, names := range []func(Rule) bool{
		func(r Rule) bool { return r.Title },
		func(r Rule) bool { return r.Format == Text && r.Path != nil },
		func(r Rule) bool { return r.Format == Text || r.Format == Account || r.Format == Masked },
	} {
		if i := slices.IndexFunc(p.rules, names); i >= 0 {
			return i
		}
	}
	return -1
}
