module github.com/countersign-dev/countersign/sdk/kit/server

go 1.26
