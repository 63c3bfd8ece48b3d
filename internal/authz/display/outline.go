package display

import "slices"

// Outline is a request in one line of a list. Its values are among the details.
type Outline struct {
	// Title names the request in lists: the detail that is declared as its title, such as the payee of a payment, and otherwise the first text,
	// or the first account. It is empty if there is none. Only a declared title may name a request on a button that signs.
	Title string
	// Amount is the first amount of money; empty if there is none.
	Amount string
	// Identifying are the details by which other requests to the same payee or account are found.
	Identifying []Detail
}

// Outlined returns the outline of a request from its details.
func Outlined(details []Detail) Outline {
	var out Outline
	title := titled(details)
	for i, d := range details {
		switch {
		case i == title:
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

// titled returns the index of the detail that names the request in lists; -1 if there is none.
func titled(details []Detail) int {
	for _, names := range []func(Detail) bool{
		func(d Detail) bool { return d.Title },
		func(d Detail) bool { return d.Format == Text },
		func(d Detail) bool { return d.Format == Account || d.Format == Masked },
	} {
		if i := slices.IndexFunc(details, names); i >= 0 {
			return i
		}
	}
	return -1
}

// Untitled reports whether the plan shows an amount of money and declares no title, and if it declares one, its path from the context down.
func (p Plan) Untitled() (missing bool, title []string) {
	amount := slices.ContainsFunc(p.rules, func(r Rule) bool { return r.Format == Money })
	i := slices.IndexFunc(p.rules, func(r Rule) bool { return r.Title })
	if i < 0 {
		return amount, nil
	}
	return false, p.rules[i].Path
}
