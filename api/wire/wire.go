// Package wire has the types of requests and responses, generated from the contract (make generate). What a service reads or writes in the
// contract's form itself is a type of that service.
package wire

import "github.com/countersign-dev/countersign/internal/platform/apitime"

// Time is a time in the form of the contract.
type Time = apitime.Instant

// New returns a request into which a body is decoded: with the contract's defaults, if T has any.
func New[T any]() T {
	var v T
	if d, has := any(&v).(interface{ SetDefaults() }); has {
		d.SetDefaults()
	}
	return v
}
