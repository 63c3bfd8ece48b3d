// Package option replaces the options of Google's clients, which import their authentication, with options without effect: the only
// such client in devstack is that of Cloud Storage, which cannot be created.
package option

// ClientOption is an option without effect.
type ClientOption struct{}

// WithTokenSource returns an option without effect.
func WithTokenSource(any) ClientOption { return ClientOption{} }
