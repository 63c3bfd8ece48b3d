// Command shop is a shop that protects its payments with Countersign. Orders and users are in memory: everything else is as in
// production.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
	"github.com/countersign-dev/countersign/sdk/go/proof"
	"github.com/countersign-dev/countersign/sdk/go/webhook"
)

// shop has one lock for everything: a real one has a database.
type shop struct {
	client   *countersign.Client
	verifier *proof.Verifier
	webhooks *webhook.Verifier
	base     string // of Countersign
	origin   string

	mu     sync.Mutex
	users  map[string]user // by cookie
	orders map[string]*order
	seen   map[string]bool // ids of webhooks
}

type user struct{ subject, session string }

type order struct {
	id, status    string
	user          user
	request       countersign.AuthorizeRequest
	authorization string
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	s, err := newShop(os.Getenv("COUNTERSIGN_URL"), os.Getenv("COUNTERSIGN_KEY"), os.Getenv("COUNTERSIGN_WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	s.origin = "http://localhost:" + port
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sign-in", s.signIn)
	mux.HandleFunc("POST /countersign-token", s.signedIn(s.token))
	mux.HandleFunc("POST /orders", s.signedIn(s.buy))
	mux.HandleFunc("GET /orders/{id}", s.signedIn(s.show))
	mux.HandleFunc("POST /webhooks", s.event)
	mux.HandleFunc("GET /collector.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "sdk/js/dist/collector.js") })
	mux.Handle("GET /", http.FileServer(http.Dir("examples/shop/page")))
	server := http.Server{Addr: net.JoinHostPort("localhost", port), Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Printf("the shop is at %s", s.origin)
	log.Fatal(server.ListenAndServe())
}

func newShop(base, key, secret string) (*shop, error) {
	client, err := countersign.New(base, key)
	if err != nil {
		return nil, err
	}
	me, err := client.GetCredential(context.Background())
	if err != nil {
		return nil, err
	}
	webhooks, err := webhook.New(secret)
	if err != nil {
		return nil, err
	}
	return &shop{
		client: client, webhooks: webhooks, base: base, users: map[string]user{}, orders: map[string]*order{}, seen: map[string]bool{},
		verifier: &proof.Verifier{Keys: proof.NewRemote(base, nil), Issuer: me.ProofIssuer, Environment: me.Environment, Audience: "shop"},
	}, nil
}
