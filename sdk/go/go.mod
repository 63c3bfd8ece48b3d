module github.com/countersign-dev/countersign/sdk/go

go 1.26

require (
	github.com/gowebpki/jcs v1.0.2
	github.com/stretchr/testify v1.12.1
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
