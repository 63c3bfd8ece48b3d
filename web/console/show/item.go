package show

// Item is one entry of the navigation.
type Item struct {
	Label, URL, Key string
	Current         bool
	Count           *int64
	Alarm           int // problems
}

// CountOrZero returns the count, 0 if there is none, for the template.
func (i Item) CountOrZero() int64 {
	if i.Count == nil {
		return 0
	}
	return *i.Count
}
