// Package s3 replaces the client of Amazon S3, nearly 4 MB of generated Go, with one whose requests fail: devstack archives nothing.
package s3

import (
	"context"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

var errNoS3 = errors.New("devstack has no archival in S3")

type (
	// Client fails every request.
	Client struct{}

	// Options are not used.
	Options struct {
		BaseEndpoint *string
		UsePathStyle bool
	}

	// HeadBucketInput names a bucket.
	HeadBucketInput struct{ Bucket *string }

	// HeadBucketOutput describes a bucket.
	HeadBucketOutput struct{}

	// HeadObjectInput names an object.
	HeadObjectInput struct{ Bucket, Key *string }

	// HeadObjectOutput describes an object.
	HeadObjectOutput struct{}

	// PutObjectInput is an object to be written.
	PutObjectInput struct {
		Bucket, Key *string
		Body        io.Reader
	}

	// PutObjectOutput describes a written object.
	PutObjectOutput struct{}

	// GetObjectInput names an object.
	GetObjectInput struct{ Bucket, Key *string }

	// GetObjectOutput is the content of an object.
	GetObjectOutput struct{ Body io.ReadCloser }

	// ListObjectsV2Input selects objects.
	ListObjectsV2Input struct {
		Bucket, Prefix, Delimiter, ContinuationToken *string
		MaxKeys                                      *int32
	}

	// ListObjectsV2Output is a page of a list of objects.
	ListObjectsV2Output struct {
		CommonPrefixes        []types.CommonPrefix
		Contents              []types.Object
		IsTruncated           *bool
		NextContinuationToken *string
	}
)

// NewFromConfig ignores its arguments.
func NewFromConfig(any, ...func(*Options)) *Client { return &Client{} }

// HeadBucket returns an error.
func (*Client) HeadBucket(context.Context, *HeadBucketInput, ...func(*Options)) (*HeadBucketOutput, error) {
	return nil, errNoS3
}

// HeadObject returns an error.
func (*Client) HeadObject(context.Context, *HeadObjectInput, ...func(*Options)) (*HeadObjectOutput, error) {
	return nil, errNoS3
}

// PutObject returns an error.
func (*Client) PutObject(context.Context, *PutObjectInput, ...func(*Options)) (*PutObjectOutput, error) {
	return nil, errNoS3
}

// GetObject returns an error.
func (*Client) GetObject(context.Context, *GetObjectInput, ...func(*Options)) (*GetObjectOutput, error) {
	return nil, errNoS3
}

// ListObjectsV2 returns an error.
func (*Client) ListObjectsV2(context.Context, *ListObjectsV2Input, ...func(*Options)) (*ListObjectsV2Output, error) {
	return nil, errNoS3
}
