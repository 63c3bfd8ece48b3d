package integration_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// jars are those of Debian's libspring-web-java, libjetty9-java and their dependencies.
const jars = "/usr/share/java/spring3-web.jar:/usr/share/java/spring3-core.jar:/usr/share/java/spring3-beans.jar:/usr/share/java/spring3-context.jar:" +
	"/usr/share/java/commons-logging.jar:/usr/share/java/servlet-api.jar:/usr/share/java/jetty9-server.jar:/usr/share/java/jetty9-servlet.jar:/usr/share/java/jetty9-http.jar:" +
	"/usr/share/java/jetty9-io.jar:/usr/share/java/jetty9-util.jar:/usr/share/java/jetty9-util-ajax.jar:/usr/share/java/jetty9-security.jar"

// TestMiddlewareOfFrameworks sends requests to an application behind the Django middleware and to one behind the Spring filter
// of examples/plain, which run on Debian's packages of the frameworks.
func TestMiddlewareOfFrameworks(t *testing.T) {
	t.Parallel()
	for name, app := range map[string]struct{ installed, start string }{
		"Django": {`/usr/bin/python3 -c "import django"`, `PYTHONPATH="$EXAMPLES" exec /usr/bin/python3 django_app.py "$@"`},
		"Spring": {`javac -version && ls $(tr : ' ' <<< "$JARS")`, `
			javac -d "$OUT" -cp "$JARS" "$EXAMPLES/Payout.java" "$EXAMPLES/CountersignFilter.java" SpringApp.java
			exec java -cp "$OUT:$JARS" SpringApp "$@"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := exec.CommandContext(t.Context(), "bash", "-c", "JARS="+jars+"\n"+app.installed).Run(); err != nil {
				t.Skip(name + " is not installed: make frameworks")
			}
			w := newSandbox(t)
			subject := w.subject(t)
			_, action := w.keeping(t, "enforce", object{"coverage_min": "none", "rules": []object{
				forbids("too_much", "context.amount > 100000"),
				{"name": "large", "when": "context.amount > 10000", "requirements": object{"hold_on": []string{"rule_matched"}}, "reason": "Large."},
				{"name": "much", "when": "context.amount > 1000", "requirements": object{"explicit_approval_required": true}, "reason": "Much."},
			}}, object{"type": "object", "required": []string{"amount"}, "properties": object{"amount": object{"type": "integer"}}})
			pay := startApp(t, app.start, w.Server.base, w.Server.key, subject, action, audience)

			status, body := pay("100")
			require.Equal(t, 200, status, body)
			require.Equal(t, "paid 100", body)

			status, body = pay("100001")
			require.Equal(t, 403, status, body)

			var refused struct{ Authorization, Challenge, URL string }
			status, body = pay("5000")
			require.Equal(t, 409, status, body)
			require.NoError(t, json.Unmarshal([]byte(body), &refused))
			require.Contains(t, refused.URL, "/challenge/"+refused.Challenge+"#")
			status, body = pay("5000")
			require.Equal(t, 409, status, "the user has not confirmed: %s", body)
			require.Contains(t, body, refused.Challenge, "the same challenge waits")
			w.Server.post(t, "/api/v1/challenges/"+refused.Challenge+"/complete", object{"method": "sandbox_confirm"}).is(200)
			status, body = pay("5000")
			require.Equal(t, 200, status, body)
			status, _ = pay("5000")
			require.Equal(t, 409, status, "a confirmation is for one payment")

			status, body = pay("50000")
			require.Equal(t, 409, status, body)
			require.NoError(t, json.Unmarshal([]byte(body), &refused))
			w.reviewer(t).post(t, "/api/v1/authorizations/"+refused.Authorization+"/review", object{"resolution": "approve"}).is(200)
			status, body = pay("50000")
			require.Equal(t, 200, status, body)

			status, body = startApp(t, app.start, "http://127.0.0.1:1", w.Server.key, subject, action, audience)("100")
			require.Equal(t, 503, status, "without a decision nothing is paid: %s", body)
		})
	}
}

// startApp runs an application of testdata/frameworks and returns what requests a payment from it in one session.
func startApp(t *testing.T, script, base, key string, args ...string) (pay func(amount string) (status int, body string)) {
	t.Helper()
	examples, err := filepath.Abs("../examples/plain")
	require.NoError(t, err)
	l := listen(t)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	cmd := exec.Command("bash", append([]string{"-eo", "pipefail", "-c", script, "app"}, args...)...)
	cmd.Dir = "testdata/frameworks"
	cmd.Env = append(os.Environ(), "EXAMPLES="+examples, "JARS="+jars, "OUT="+t.TempDir(), "PORT="+port, "BASE="+base, "KEY="+key, "PYTHONDONTWRITEBYTECODE=1")
	startScript(t, cmd)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	user := &http.Client{Jar: jar, Timeout: time.Minute}
	get := func(path string) (int, string, error) {
		response, err := user.Get("http://127.0.0.1:" + port + path)
		if err != nil {
			return 0, "", err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, string(body), err
	}
	require.Eventually(t, func() bool { _, _, err := get("/alive"); return err == nil }, patience, 100*time.Millisecond, "the application starts")
	return func(amount string) (int, string) {
		status, body, err := get("/payout?amount=" + amount)
		require.NoError(t, err)
		return status, body
	}
}
