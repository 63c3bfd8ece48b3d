package integration_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
)

// hostileRequest is a request as it is sent: nothing is normalised.
type hostileRequest struct {
	operation, kind string // the operation it was derived from, and the kind of credential
	method, target  string
	header          [][2]string
	body            []byte
}

// cutOff reports whether the request may be shorter than it declares.
func (h hostileRequest) cutOff() bool {
	return slices.ContainsFunc(h.header, func(l [2]string) bool { return l[0] == "Transfer-Encoding" || l[0] == "Content-Length" })
}

// bytes encodes the request in HTTP/1.1.
func (h hostileRequest) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", h.method, h.target)
	counted := true
	for _, line := range h.header {
		fmt.Fprintf(&b, "%s: %s\r\n", line[0], line[1])
		if name := strings.ToLower(line[0]); name == "transfer-encoding" || name == "content-length" {
			counted = false
		}
	}
	if counted && (len(h.body) > 0 || h.method != "GET") {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(h.body))
	}
	b.WriteString("\r\n")
	b.Write(h.body)
	return b.Bytes()
}

// mutator makes invalid requests from valid ones. It is deterministic for a seed.
type mutator struct{ *rand.Rand }

func pick[T any](m mutator, from []T) T { return from[m.IntN(len(from))] }

// mutate changes one to three parts of the request.
func (m mutator) mutate(h hostileRequest) hostileRequest {
	for range 1 + m.IntN(3) {
		switch n := m.IntN(20); {
		case n < 8:
			h.body = m.tree(h.body)
		case n < 12:
			h.body = m.raw(h.body)
		case n < 15:
			h.target = m.path(h.target)
		case n < 17:
			h.target = m.query(h.target)
		case n < 19:
			h = m.headers(h)
		default:
			h.method = pick(m, []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "FOO", "get"})
		}
	}
	return h
}

// value returns an unexpected JSON value.
func (m mutator) value() any {
	return pick(m, []any{
		nil, true, false, 0, -1, 1, 1.5, 1e15, 9007199254740993.0, -1e308, 1e308, 2147483648, 4294967296, "", " ", "a", "null", "0", "true",
		strings.Repeat("a", 129), strings.Repeat("é", 257), strings.Repeat("😀", 2049), "\u0000", "a\u0000b", "\u202e", "\ufffd", "'; drop table subjects; --",
		"../../etc/passwd", "%s%n", "${jndi:ldap://x}", "<script>", "2026-99-99T00:00:00Z", "2026-11-21T09:30:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
		[]any{}, []any{nil}, []any{[]any{}}, []any{1, "a", nil}, map[string]any{}, map[string]any{"": nil}, map[string]any{"__proto__": map[string]any{}},
		map[string]any{"$ref": "#"}, slices.Repeat([]any{"a"}, 1000), slices.Repeat([]any{map[string]any{"ts": 1}}, 300),
	})
}

// tree changes one value of a JSON body.
func (m mutator) tree(body []byte) []byte {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return m.raw(body)
	}
	out, err := json.Marshal(m.change(v, 0))
	if err != nil {
		return body
	}
	return out
}

func (m mutator) change(v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		return m.object(v, depth)
	case []any:
		if len(v) == 0 || m.IntN(3) == 0 {
			return m.value()
		}
		out := slices.Clone(v)
		i := m.IntN(len(out))
		out[i] = m.change(out[i], depth+1)
		return out
	}
	return m.value()
}

func (m mutator) object(v map[string]any, depth int) any {
	keys := slices.Sorted(maps.Keys(v))
	if len(keys) == 0 || depth > 0 && m.IntN(4) == 0 {
		return m.value()
	}
	out := maps.Clone(v)
	key := pick(m, keys)
	switch m.IntN(8) {
	case 0:
		delete(out, key)
	case 1:
		out[pick(m, []string{"admin", "", "id", "tenant_id", strings.ToUpper(key), key + " ", "\u0000", strings.Repeat("k", 3000)})] = m.value()
	case 2:
		out[strings.ToUpper(key)] = out[key]
		delete(out, key)
	default:
		out[key] = m.change(out[key], depth+1)
	}
	return out
}

// raw changes the bytes of a body.
func (m mutator) raw(body []byte) []byte {
	text := string(body)
	cut := 0
	if len(text) > 0 {
		cut = m.IntN(len(text))
	}
	random := make([]byte, 1+m.IntN(200))
	for i := range random {
		random[i] = byte(m.Uint32())
	}
	return []byte(pick(m, []string{
		"", " ", "null", "true", "0", `""`, "[]", "{}", "[[]]", text[:cut], text[:cut] + string(random) + text[cut:], string(random), text + text,
		text + "{}", text + "\x00", "\x00" + text, "\ufeff" + text, "\xff\xfe" + text, strings.Replace(text, "{", `{"a":1,"a":1,`, 1),
		strings.ReplaceAll(text, `"`, `'`), strings.Replace(text, ":", "=", 1), strings.Replace(text, `":"`, `":"\ud800`, 1),
		strings.Replace(text, `":"`, `":"\u0000`, 1), strings.Replace(text, `":"`, "\":\"\xc3\x28", 1), strings.Replace(text, `":`, `":1e999,"b":`, 1),
		strings.Replace(text, `":`, `":`+strings.Repeat("9", 400)+`,"b":`, 1), strings.Replace(text, `":`, `":-0,"b":`, 1), strings.Replace(text, `":`, `":NaN,"b":`, 1),
		strings.Repeat("[", 30_000), strings.Repeat(`{"a":`, 20_000), `{"a":"` + strings.Repeat("a", 70_000) + `"}`, strings.Repeat(" ", 300_000) + text,
		"/* */" + text, text + "// end", "a=b&c=d", "<xml/>", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--",
	}))
}

func (m mutator) path(target string) string {
	parts := strings.Split(target, "/")
	i := m.IntN(len(parts))
	parts[i] = pick(m, []string{
		"", ".", "..", "%2e%2e", "%00", "%ff", "%c0%af", "%zz", "%", "a%2fb", "a%20b", "*", ":id", "{id}", "\xff", "é", ";", "a;b=c", "a'b", "0", "-1", "1e9", "99999999999999999999",
		strings.Repeat("a", 129), strings.Repeat("a", 6000), strings.ToUpper(parts[i]), parts[i] + "/", parts[i] + "%00", parts[i] + ".json", url.PathEscape("😀"), "null", "undefined",
	})
	joined := strings.Join(parts, "/")
	if !strings.HasPrefix(joined, "/") {
		joined = "/" + joined
	}
	return strings.NewReplacer(" ", "%20", "\r", "", "\n", "").Replace(joined)
}

func (m mutator) query(target string) string {
	separator := "?"
	if strings.Contains(target, "?") {
		separator = "&"
	}
	name := pick(m, []string{"limit", "cursor", "status", "since", "until", "subject", "action", "decision", "mode", "type", "key", "order", "review_status", "enrollment", "x", "", "limit[]"})
	value := pick(m, []string{
		"", "0", "-1", "201", "1.5", "1e3", "x", "%00", "%ff", "a%20b", strings.Repeat("9", 30), strings.Repeat("A", 600), "AAAA", "2026-11-21T00:00:00Z", "9999-99-99", "*", "hold.*",
		"pending", "active", "%f0%9f%98%80", "'%20or%201=1", "a&limit=1&limit=2", "%zz", "MDFrOXgzdjdxMmU0cnRi", "enforce", "allow", "newest",
	})
	return target + separator + name + "=" + value
}

func (m mutator) headers(h hostileRequest) hostileRequest {
	set := func(name, value string) {
		h.header = slices.DeleteFunc(slices.Clone(h.header), func(l [2]string) bool { return strings.EqualFold(l[0], name) })
		h.header = append(h.header, [2]string{name, value})
	}
	switch m.IntN(12) {
	case 0, 1:
		set("Content-Type", pick(m, []string{"", "text/plain", "application/json; charset=utf-16", "application/json;;", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "*/*", "application/json, text/plain", "APPLICATION/JSON"}))
	case 2:
		set("Content-Encoding", pick(m, []string{"gzip", "br", "deflate", "identity", "zstd", "gzip, gzip", "x"}))
		if m.IntN(2) == 0 {
			h.body = zipped(bytes.Repeat([]byte(" "), 1<<20))
		}
	case 3:
		set("Idempotency-Key", pick(m, []string{"", " ", "a", strings.Repeat("k", 255), strings.Repeat("k", 256), "é", "a b", "\x01"}))
	case 4:
		set("Authorization", pick(m, []string{"", "Bearer", "Bearer ", "bearer x", "Basic YTpi", "Bearer sk_test_" + strings.Repeat("a", 38), "Bearer " + strings.Repeat("a", 9000), "Bearer \xff", "Bearer a b"}))
	case 5:
		set("X-Request-Id", pick(m, []string{"", "a", strings.Repeat("r", 129), "<script>", "req_\xff", "12345678"}))
	case 6:
		set("traceparent", pick(m, []string{"", "00", "00-" + strings.Repeat("0", 32) + "-" + strings.Repeat("0", 16) + "-00", "00-zz-zz-00", strings.Repeat("0-", 500)}))
	case 7:
		set("Accept", pick(m, []string{"", "text/html", "application/xml", "application/json;q=x", strings.Repeat("a/b,", 500)}))
	case 8:
		set("Content-Length", pick(m, []string{"-1", "x", "99999999999999999999", "0", "1", "1000000"}))
	case 9:
		set("Transfer-Encoding", "chunked")
		h.body = []byte(pick(m, []string{"0\r\n\r\n", "zz\r\n", "5\r\nab", "ffffffffffffffff\r\na", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(h.body), h.body)}))
	case 10:
		set("Origin", pick(m, []string{"", "null", "https://evil.example.com", "javascript:x", strings.Repeat("o", 3000)}))
	default:
		set("X-Long", strings.Repeat("x", pick(m, []int{1000, 15_000, 17_000, 70_000})))
	}
	return h
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a buffer never fails
	_ = w.Close()
	return b.Bytes()
}
