// The bundler of the pages' scripts and style sheets, in a module of its own so that nothing of it reaches the product.
module github.com/countersign-dev/countersign/tools/bundle

go 1.26.0

require github.com/evanw/esbuild v0.25.9

require golang.org/x/sys v0.0.0-20220715151400-c0bba94af5f8 // indirect
