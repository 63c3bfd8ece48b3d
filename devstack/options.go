package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

// databaseURLEnv names the environment variable that stands in for --database-url.
const databaseURLEnv = "DEVSTACK_DATABASE_URL"

// options holds the validated command line with defaults applied.
type options struct {
	databaseURL        string // postgres:// URL of any database on the server
	database           string // Temporal's main store; created when absent
	visibilityDatabase string // Temporal's visibility store; created when absent
	databaseWait       time.Duration
	frontendPort       int // 0 picks a free port
	uiPort             int // 0 picks a free port
	namespaces         []string
	retention          time.Duration
	searchAttributes   map[string]enumspb.IndexedValueType
	listen             string // IPv4 address of the frontend and the UI
	readyFile          string // empty: no ready file is written
	logLevel           string
	codecEndpoint      string   // empty: the UI shows payloads as they are stored
	parentPID          int      // 0: no process is watched
	services           []string // of a cluster of several processes; empty: all of them, in this process
}

var (
	namespaceName       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{1,62}$`)
	searchAttributeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	logLevels           = []string{"debug", "info", "warn", "error"}
)

// parseOptions reads args (without the program's name). It writes the usage text to out and returns
// flag.ErrHelp if args ask for help. Every other error is one sentence that names the flag and the rule it breaks.
func parseOptions(args []string, getenv func(string) string, out io.Writer) (options, error) {
	o := options{searchAttributes: map[string]enumspb.IndexedValueType{}}
	fs := flag.NewFlagSet("devstack", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.databaseURL, "database-url", getenv(databaseURLEnv),
		"Postgres `URL` of a user who may create databases (env "+databaseURLEnv+")")
	fs.StringVar(&o.database, "database", "temporal", "`name` of Temporal's main database")
	fs.StringVar(&o.visibilityDatabase, "visibility-database", "temporal_visibility", "`name` of the visibility database")
	fs.DurationVar(&o.databaseWait, "database-wait", 10*time.Second, "how long to wait for Postgres to accept connections")
	fs.IntVar(&o.frontendPort, "frontend-port", 7233, "gRPC `port`; 0 picks a free one")
	fs.IntVar(&o.uiPort, "ui-port", 8233, "web UI `port`; 0 picks a free one")
	fs.StringVar(&o.listen, "listen", loopback,
		"IPv4 `address` that gRPC and the UI listen on; neither authenticates callers, so change it only inside a container")
	fs.Func("namespace", "`name` to register at start; repeatable (default countersign)", o.addNamespace)
	fs.DurationVar(&o.retention, "retention", 30*24*time.Hour, "how long a namespace registered at start keeps closed workflows")
	fs.Func("search-attribute", "`Name=Type` to register in every namespace; repeatable", o.addSearchAttribute)
	fs.StringVar(&o.readyFile, "ready-file", "", "`path` of a JSON file written once everything is ready")
	fs.StringVar(&o.logLevel, "log-level", "error", "lowest `level` printed: "+strings.Join(logLevels, ", "))
	fs.StringVar(&o.codecEndpoint, "codec-endpoint", "", "`URL` of the codec server that the UI uses to decode payloads")
	fs.IntVar(&o.parentPID, "parent-pid", 0, "`pid` of a process to watch: devstack stops when it ends; 0 watches none")
	fs.Func("services", "comma-separated `names` of frontend, history, matching, worker: run only these, in a cluster with other "+
		"processes on the same databases, and no UI (default all)", o.setServices)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(out)
			fs.Usage()
		}
		return options{}, err
	}
	if fs.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: devstack takes flags only", fs.Arg(0))
	}
	if len(o.namespaces) == 0 {
		o.namespaces = []string{"countersign"}
	}
	return o, o.validate()
}

func (o *options) addNamespace(name string) error {
	if !namespaceName.MatchString(name) {
		return errors.New("a namespace is 2 to 63 letters, digits, dots, dashes or underscores")
	}
	if !slices.Contains(o.namespaces, name) {
		o.namespaces = append(o.namespaces, name)
	}
	return nil
}

func (o *options) addSearchAttribute(pair string) error {
	name, typeName, found := strings.Cut(pair, "=")
	if !found || !searchAttributeName.MatchString(name) {
		return errors.New("a search attribute is given as Name=Type")
	}
	kind, err := enumspb.IndexedValueTypeFromString(typeName)
	if err != nil || kind == enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED {
		return fmt.Errorf("%q is no type: use Keyword, KeywordList, Text, Int, Double, Bool or Datetime", typeName)
	}
	if known, ok := o.searchAttributes[name]; ok && known != kind {
		return fmt.Errorf("%s is given twice, as %s and as %s", name, known, kind)
	}
	o.searchAttributes[name] = kind
	return nil
}

func (o *options) validate() error {
	if o.databaseURL == "" {
		return fmt.Errorf("--database-url (or %s) is required", databaseURLEnv)
	}
	if u, err := url.Parse(o.databaseURL); err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return errors.New("--database-url must be a URL that starts with postgres://")
	}
	if o.database == "" || o.visibilityDatabase == "" || o.database == o.visibilityDatabase {
		return errors.New("--database and --visibility-database must be two different names")
	}
	if !isPort(o.frontendPort) || !isPort(o.uiPort) {
		return errors.New("--frontend-port and --ui-port must be between 0 and 65535")
	}
	if o.frontendPort != 0 && o.frontendPort == o.uiPort {
		return errors.New("--frontend-port and --ui-port must differ")
	}
	if ip := net.ParseIP(o.listen); ip == nil || ip.To4() == nil {
		return errors.New("--listen must be an IPv4 address such as 127.0.0.1 or 0.0.0.0")
	}
	if o.retention < 24*time.Hour {
		return errors.New("--retention must be at least 24h")
	}
	if o.databaseWait < 0 || o.parentPID < 0 {
		return errors.New("--database-wait and --parent-pid must not be negative")
	}
	return o.validateTexts()
}

func (o *options) validateTexts() error {
	if !slices.Contains(logLevels, o.logLevel) {
		return fmt.Errorf("--log-level must be one of %s", strings.Join(logLevels, ", "))
	}
	if o.codecEndpoint == "" {
		return nil
	}
	if u, err := url.Parse(o.codecEndpoint); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return errors.New("--codec-endpoint must be an http or https URL")
	}
	return nil
}

func isPort(n int) bool { return n >= 0 && n <= 65535 }
