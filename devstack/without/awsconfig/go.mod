// In place of github.com/aws/aws-sdk-go-v2/config, for devstack only (../../README.md).
module github.com/aws/aws-sdk-go-v2/config

go 1.26.0

require github.com/aws/aws-sdk-go-v2 v1.43.4

require github.com/aws/smithy-go v1.27.6 // indirect
