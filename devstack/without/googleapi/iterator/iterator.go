// Package iterator has the error that ends lists of Google's clients. No list in devstack returns it, since no client can be created.
package iterator

import "errors"

// Done ends a list.
var Done = errors.New("no more items") //nolint:revive,staticcheck // the name that Google gave it
