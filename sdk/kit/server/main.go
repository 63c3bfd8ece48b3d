// Command server plays the wire kit of sdk/kit, so that authors of SDKs need no installation of Countersign:
//
//	go run . --addr 127.0.0.1:8090
//
// A case is an API of its own under /<file>/<name>, such as /retries/after%20a%20lost%20response, which is the base URL for the client under
// test. The case's /report compares the calls that were received with the script; / lists all cases.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8090", "`address` to listen on; port 0 picks a free one")
	kit := flag.String("kit", "..", "`folder` of the kit's files")
	flag.Parse()
	if err := run(*addr, *kit); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(addr, kit string) error {
	cases, err := load(os.DirFS(kit))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s plays %d cases\n", listener.Addr(), len(cases))
	server := &http.Server{Handler: newPlayer(cases), ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}
