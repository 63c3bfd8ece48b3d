// Package types has the types of S3 that the server reads or compares errors with.
package types

type (
	// NoSuchBucket is the error of a missing bucket.
	NoSuchBucket struct{}

	// NoSuchKey is the error of a missing object.
	NoSuchKey struct{}

	// CommonPrefix is a folder in a list of objects.
	CommonPrefix struct{ Prefix *string }

	// Object is an object in a list.
	Object struct{ Key *string }
)

func (*NoSuchBucket) Error() string { return "the bucket does not exist" }

func (*NoSuchKey) Error() string { return "the object does not exist" }
