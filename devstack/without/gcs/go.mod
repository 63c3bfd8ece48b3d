// In place of cloud.google.com/go/storage, for devstack only (../../README.md).
module cloud.google.com/go/storage

go 1.26.0
