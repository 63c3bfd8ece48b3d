package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/countersign-dev/countersign/internal/account/tenancy"
	"github.com/countersign-dev/countersign/workflows"
)

// shortRetention is the time below which a namespace deletes closed workflow runs before anyone has looked at them.
const shortRetention = 7 * 24 * time.Hour

// dialWithin bounds a connection to a system beside the service.
const dialWithin = 2 * time.Second

// namespace looks at what the service needs of its namespace, and who else uses it.
func (d *doctor) namespace(ctx context.Context, flows *workflows.Client) error {
	missing, err := flows.MissingAttributes(ctx)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		d.find("temporal", "the namespace lacks the Keyword search attributes "+strings.Join(missing, ", "),
			"temporal operator search-attribute create --name NAME --type Keyword for each; until then completions and reviews are refused with 503, and workers are not ready")
		return nil // nothing can be asked by them
	}
	kept, err := flows.Retention(ctx)
	if err != nil {
		return err
	}
	if kept > 0 && kept < shortRetention {
		d.find("temporal", fmt.Sprintf("the namespace stores closed workflow runs for %s", kept), "set its retention to 30 days, or as your auditors require")
	}
	reason, err := flows.Unserved(ctx)
	if err != nil {
		return err
	}
	if reason != "" {
		d.find("workers", reason, "start countersign worker, or move tasks with countersign rollout; nothing is lost, what waits goes on then")
	}
	used, err := flows.Environments(ctx)
	if err != nil {
		return err
	}
	all, err := tenancy.ListEnvironments(ctx, d.Store.Q, "")
	if err != nil {
		return err
	}
	for _, e := range all {
		used = slices.DeleteFunc(used, func(id string) bool { return id == e.ID })
	}
	if len(used) > 0 {
		d.find("temporal", "workflows run in the namespace for environments that this database does not have: "+strings.Join(used, ", "),
			"give each installation a namespace of its own: workers of one cannot do the work of the other. Those of a deleted tenant end by themselves")
	}
	return nil
}

// neighbours looks at the systems beside the service whose settings it has: their addresses answer.
func (d *doctor) neighbours(ctx context.Context) error {
	d.standby(ctx)
	d.public(ctx)
	if at := d.settings.mail.address; at != "" {
		if err := dials(ctx, at); err != nil {
			d.find("mail server", fmt.Sprintf("%s does not answer: %v", at, err), "start it, or correct COUNTERSIGN_SMTP_ADDRESS; notices wait and are sent then")
		}
	}
	for _, c := range []struct{ what, endpoint, remedy string }{
		{"trace collector", d.settings.tracesEndpoint, "start it, or correct COUNTERSIGN_TRACES_ENDPOINT; spans are dropped meanwhile"},
		{"metrics collector", d.settings.metricsEndpoint, "start it, or correct COUNTERSIGN_METRICS_ENDPOINT; counters count on meanwhile"},
	} {
		if c.endpoint == "" {
			continue
		}
		if err := dials(ctx, hostPort(c.endpoint)); err != nil {
			d.find(c.what, fmt.Sprintf("%s does not answer: %v", c.endpoint, err), c.remedy)
		}
	}
	return nil
}

// standby looks at the server that lists are read from.
func (d *doctor) standby(ctx context.Context) {
	if d.settings.standbyURL == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	const remedy = "start it, or correct COUNTERSIGN_DATABASE_STANDBY_URL; lists are read from the primary meanwhile"
	conn, err := pgx.Connect(ctx, d.settings.standbyURL)
	if err != nil {
		d.find("standby", fmt.Sprintf("cannot be reached: %v", err), remedy)
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var replays bool
	if err := conn.QueryRow(ctx, "select pg_is_in_recovery()").Scan(&replays); err != nil || !replays {
		d.find("standby", "the server at COUNTERSIGN_DATABASE_STANDBY_URL is no standby", remedy)
	}
}

// public looks at what the public URL leads to: this installation publishes the keys of this database there.
func (d *doctor) public(ctx context.Context) {
	base := d.settings.baseURL
	if base == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	const remedy = "correct COUNTERSIGN_BASE_URL, or the proxy that it leads to: proofs name it as their issuer, and links of pages begin with it"
	var set keyIDs
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/.well-known/service-proof-keys.json", nil)
	if err == nil {
		var res *http.Response
		if res, err = http.DefaultClient.Do(req); err == nil {
			defer func() { _ = res.Body.Close() }()
			if err = json.NewDecoder(res.Body).Decode(&set); err != nil || res.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d", res.StatusCode)
			}
		}
	}
	if err != nil {
		d.find("base URL", fmt.Sprintf("%s has no key set of the service: %v", base, err), remedy)
		return
	}
	own, err := d.Signing.Published(ctx, "")
	var mine keyIDs
	if err == nil {
		err = json.Unmarshal(own.Body, &mine)
	}
	if err == nil && len(mine.Keys) > 0 && !slices.ContainsFunc(mine.Keys, func(k keyID) bool { return slices.Contains(set.Keys, k) }) {
		d.find("base URL", base+" publishes the keys of another installation", remedy)
	}
}

// keyIDs are the ids of a public key set.
type keyIDs struct {
	Keys []keyID `json:"keys"`
}

type keyID struct {
	ID string `json:"kid"`
}

// dials opens a connection and closes it.
func dials(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{Timeout: dialWithin}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// hostPort returns the address of a URL.
func hostPort(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[bool]string{true: "443", false: "80"}[u.Scheme == "https"])
}
