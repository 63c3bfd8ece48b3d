package main

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

const someURL = "postgres://someone@127.0.0.1:5432/postgres"

func noEnv(string) string { return "" }

func TestParseOptions_Defaults(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{"--database-url", someURL}, noEnv, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{
		databaseURL:        someURL,
		database:           "temporal",
		visibilityDatabase: "temporal_visibility",
		databaseWait:       10 * time.Second,
		frontendPort:       7233,
		uiPort:             8233,
		listen:             loopback,
		namespaces:         []string{"countersign"},
		retention:          30 * 24 * time.Hour,
		searchAttributes:   map[string]enumspb.IndexedValueType{},
		logLevel:           "error",
	}, o)
}

func TestParseOptions_EverythingGiven(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{
		"--database", "a", "--visibility-database=b", "--database-wait", "0s",
		"--frontend-port", "0", "--ui-port", "0",
		"--namespace", "one", "--namespace", "two", "--namespace", "one", "--retention", "72h",
		"--search-attribute", "Kind=Keyword", "--search-attribute", "Tags=KeywordList", "--search-attribute", "Due=Datetime",
		"--ready-file", "/tmp/ready", "--log-level", "warn", "--codec-endpoint", "http://localhost:8080/codec",
		"--parent-pid", "42", "--listen", "0.0.0.0",
	}, func(name string) string {
		require.Equal(t, databaseURLEnv, name)
		return someURL
	}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{
		databaseURL:        someURL,
		database:           "a",
		visibilityDatabase: "b",
		namespaces:         []string{"one", "two"},
		retention:          72 * time.Hour,
		searchAttributes: map[string]enumspb.IndexedValueType{
			"Kind": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
			"Tags": enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST,
			"Due":  enumspb.INDEXED_VALUE_TYPE_DATETIME,
		},
		listen:        "0.0.0.0",
		readyFile:     "/tmp/ready",
		logLevel:      "warn",
		codecEndpoint: "http://localhost:8080/codec",
		parentPID:     42,
	}, o)
}

func TestParseOptions_Refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, says string }{
		"unknown flag":              {"--nope", "not defined: -nope"},
		"argument":                  {"start", `unexpected argument "start"`},
		"other database":            {"--database-url mysql://x", "--database-url"},
		"one database for both":     {"--database x --visibility-database x", "two different names"},
		"port too high":             {"--frontend-port 65536", "between 0 and 65535"},
		"port below zero":           {"--ui-port -1", "between 0 and 65535"},
		"one port for both":         {"--frontend-port 9000 --ui-port 9000", "must differ"},
		"no address":                {"--listen localhost", "--listen must be an IPv4 address"},
		"namespace with a space":    {"--namespace a\u00a0b", "a namespace is"},
		"attribute without a type":  {"--search-attribute Kind", "Name=Type"},
		"attribute without a name":  {"--search-attribute =Keyword", "Name=Type"},
		"attribute of unknown type": {"--search-attribute Kind=String", `"String" is no type`},
		"attribute of no type":      {"--search-attribute Kind=Unspecified", "is no type"},
		"attribute of two types":    {"--search-attribute K=Int --search-attribute K=Bool", "given twice"},
		"retention too short":       {"--retention 1h", "--retention"},
		"negative wait":             {"--database-wait -1s", "--database-wait"},
		"negative pid":              {"--parent-pid -1", "--parent-pid"},
		"log level":                 {"--log-level loud", "--log-level"},
		"codec without a host":      {"--codec-endpoint http:///codec", "--codec-endpoint"},
		"codec of another scheme":   {"--codec-endpoint ftp://x", "--codec-endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--database-url", someURL}, strings.Split(c.args, " ")...)
			_, err := parseOptions(args, noEnv, io.Discard)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestParseOptions_DatabaseURLIsRequired(t *testing.T) {
	t.Parallel()
	_, err := parseOptions(nil, noEnv, io.Discard)
	require.ErrorContains(t, err, databaseURLEnv)
}

func TestParseOptions_HelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	_, err := parseOptions([]string{"--help"}, noEnv, &out)
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, name := range []string{"database-url", "frontend-port", "ui-port", "namespace", "search-attribute", "ready-file"} {
		require.Contains(t, out.String(), "-"+name)
	}
}

func FuzzSearchAttribute(f *testing.F) {
	for _, seed := range []string{"Kind=Keyword", "a=Int", "=", "x=y=z", "Kind=keyword"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pair string) {
		o := options{searchAttributes: map[string]enumspb.IndexedValueType{}}
		if o.addSearchAttribute(pair) != nil {
			require.Empty(t, o.searchAttributes)
			return
		}
		require.Len(t, o.searchAttributes, 1)
		for name, kind := range o.searchAttributes {
			require.NotEqual(t, enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED, kind)
			require.Regexp(t, searchAttributeName, name)
			require.True(t, strings.HasPrefix(pair, name+"="))
		}
	})
}
