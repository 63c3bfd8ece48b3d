// Package storage replaces the client of Google Cloud Storage, which imports Google's monitoring and gRPC's xDS, with one that cannot be
// created: devstack archives nothing.
package storage

import (
	"context"
	"errors"
)

// ScopeFullControl is not used by NewClient.
const ScopeFullControl = ""

var errNoStorage = errors.New("devstack has no archival in Google Cloud Storage")

// Client has no values other than nil, because NewClient fails. The methods of all types here return the error of NewClient.
type Client struct{}

// NewClient returns an error, whatever the options are.
func NewClient(context.Context, ...any) (*Client, error) { return nil, errNoStorage }

// Bucket returns a bucket that cannot be reached.
func (*Client) Bucket(string) *BucketHandle { return &BucketHandle{} }

type (
	// BucketHandle is a bucket.
	BucketHandle struct{}

	// BucketAttrs describes a bucket.
	BucketAttrs struct{}

	// Query selects objects by the beginning of their name.
	Query struct{ Prefix string }

	// ObjectIterator is a list of objects.
	ObjectIterator struct{}

	// ObjectHandle is an object of a bucket.
	ObjectHandle struct{}

	// ObjectAttrs describes an object.
	ObjectAttrs struct{ Name string }

	// Reader reads an object.
	Reader struct{}

	// Writer writes an object.
	Writer struct{}
)

// Attrs returns an error.
func (*BucketHandle) Attrs(context.Context) (*BucketAttrs, error) { return nil, errNoStorage }

// Object returns an object that cannot be reached.
func (*BucketHandle) Object(string) *ObjectHandle { return &ObjectHandle{} }

// Objects returns an iterator that fails.
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return &ObjectIterator{} }

// Next returns an error.
func (*ObjectIterator) Next() (*ObjectAttrs, error) { return nil, errNoStorage }

// Attrs returns an error.
func (*ObjectHandle) Attrs(context.Context) (*ObjectAttrs, error) { return nil, errNoStorage }

// NewReader returns an error.
func (*ObjectHandle) NewReader(context.Context) (*Reader, error) { return nil, errNoStorage }

// NewWriter returns a writer that fails.
func (*ObjectHandle) NewWriter(context.Context) *Writer { return &Writer{} }

// Read returns an error.
func (*Reader) Read([]byte) (int, error) { return 0, errNoStorage }

// Close returns an error.
func (*Reader) Close() error { return errNoStorage }

// Write returns an error.
func (*Writer) Write([]byte) (int, error) { return 0, errNoStorage }

// Close returns an error.
func (*Writer) Close() error { return errNoStorage }

// CloseWithError returns an error.
func (*Writer) CloseWithError(error) error { return errNoStorage }
