package framing_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/countersign-dev/countersign/internal/transport/framing"
)

// How a connection is cut into reads changes nothing.
func TestReadsOfAnySizeAreOneStream(t *testing.T) {
	t.Parallel()
	for _, stream := range seeds() {
		var whole framing.Checker
		n, err := whole.Check([]byte(stream))
		var pieces framing.Checker
		total := 0
		for i := range len(stream) {
			one, fault := pieces.Check([]byte(stream[i : i+1]))
			total += one
			if fault != nil {
				require.Equal(t, err, fault, "%q", stream)
				break
			}
		}
		require.Equal(t, n, total, "%q", stream)
		require.Equal(t, err, pieces.Err(), "%q", stream)
	}
}

// FuzzChecker compares with two servers: of the bytes that pass, net/http and fasthttp read the same requests with the same bodies.
func FuzzChecker(f *testing.F) {
	for _, seed := range seeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var c framing.Checker
		n, err := c.Check(bytes.Clone(stream))
		if err != nil {
			return
		}
		require.Equal(t, len(stream), n)
		standard, fast := bufio.NewReader(bytes.NewReader(stream)), bufio.NewReaderSize(bytes.NewReader(stream), 64<<10)
		for {
			want, wantErr := readStandard(standard)
			got, gotErr := readFast(fast)
			if wantErr != nil || gotErr != nil {
				return // one refuses, or the stream ends within a request
			}
			require.Equal(t, want, got)
		}
	})
}

func readStandard(r *bufio.Reader) (string, error) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(req.Body)
	return req.Method + " " + req.Host + "\n" + string(body), err
}

func readFast(r *bufio.Reader) (string, error) {
	var req fasthttp.Request
	if err := req.ReadLimitBody(r, 1<<20); err != nil {
		return "", err
	}
	return string(req.Header.Method()) + " " + string(req.Header.Host()) + "\n" + string(req.Body()), nil
}

func seeds() []string {
	const head = "POST / HTTP/1.1\r\nHost: x\r\n"
	return []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", head + "Content-Length: 2\r\n\r\nokGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\n\r\nGET / HTTP/1.0\r\n\r\n", head + "Transfer-Encoding: chunked\r\n\r\n2;\nxx\r\nNN\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\n", head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", head + "X: a\r\n b\r\n\r\n", "\r\n\r\nGET /", "GET /\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\n2\r\nokx\r\n", "GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\nHost: x\n\n", "\n",
		head + "Authorization: a\r\nauthorization: b\r\n\r\n", head + "Origin: a\r\nX-Origin: b\r\nContent-Type: c\r\nContent-Length: 0\r\n\r\n",
	}
}
