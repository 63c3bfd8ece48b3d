package workflows

import (
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/countersign-dev/countersign/internal/delivery/histories"
	"github.com/countersign-dev/countersign/internal/platform/problem"
)

// maxPayloads is the maximum number of payloads of a request. The UI sends those of one event.
const maxPayloads = 1000

// AuditorsCodec serves the codec server protocol of the Temporal UI to auditors: POST /decode with a list of payloads. Each payload
// of a workflow whose environment the caller audits is returned decrypted, every other as it came. It never encrypts, so that no one
// can forge payloads through it.
type AuditorsCodec struct {
	Codec   *Codec
	Service *histories.Service
	Log     *slog.Logger
	Origin  string // of the UI: pages of no other origin are served
	Cookie  string // name of the console's session cookie
}

// ServeHTTP implements http.Handler.
func (a AuditorsCodec) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	codecHeaders(w.Header(), a.Origin)
	origin := r.Header.Get("Origin")
	switch {
	case r.URL.Path != "/decode":
		http.Error(w, "Only /decode is served: set this address without a path as the codec endpoint.", http.StatusNotFound)
	case origin != "" && origin != a.Origin:
		http.Error(w, "Pages of this origin may not have payloads decrypted: set COUNTERSIGN_CODEC_ORIGIN to the origin of the Temporal UI.", http.StatusForbidden)
	case r.Method == http.MethodOptions:
		w.Header().Set("Access-Control-Max-Age", strconv.Itoa(int((10 * time.Minute).Seconds())))
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST, OPTIONS")
		http.Error(w, "Use POST to decrypt payloads.", http.StatusMethodNotAllowed)
	default:
		a.decode(w, r)
	}
}

// caller returns what the request authenticates with. The cookie counts only in a request of the UI's page, which the browser names.
func (a AuditorsCodec) caller(r *http.Request) histories.Caller {
	if header := r.Header.Get("Authorization"); header != "" {
		key, _ := strings.CutPrefix(header, "Bearer ")
		return histories.Caller{Key: key}
	}
	cookie, err := r.Cookie(a.Cookie)
	if err != nil || r.Header.Get("Origin") != a.Origin {
		return histories.Caller{}
	}
	return histories.Caller{Cookie: cookie.Value}
}

func (a AuditorsCodec) decode(w http.ResponseWriter, r *http.Request) {
	if err := a.Service.Enter(r.Context()); err != nil {
		a.refuse(w, r, err)
		return
	}
	defer a.Service.Leave()
	reader, err := a.Service.Admit(r.Context(), a.caller(r))
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	payloads, err := readPayloads(w, r)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), len(payloads) > maxPayloads:
		err = problem.Newf(problem.BodyTooLarge, "The body may have %d payloads and %d bytes: send fewer at once.", maxPayloads, maxCodecBody)
	case err != nil:
		err = problem.New(problem.BadRequest, `The body must be {"payloads": [...]} with payloads of Temporal as JSON.`)
	default:
		payloads, err = a.open(r, reader, payloads)
	}
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	writePayloads(w, payloads)
}

// open decrypts the payloads that the reader may read, and records that it did.
func (a AuditorsCodec) open(r *http.Request, reader *histories.Reader, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	plain, ids := make([]*commonpb.Payload, len(payloads)), make([]string, len(payloads))
	opened := histories.Opened{}
	for i, p := range payloads {
		var err error
		if plain[i], ids[i], err = a.Codec.open(p); err != nil {
			ids[i] = "" // sealed with a master key that this process lacks, or damaged: it stays as it came
		}
		if ids[i] != "" {
			opened[ids[i]]++
		}
	}
	scopes, err := reader.Scopes(r.Context(), opened)
	if err != nil {
		return nil, err
	}
	for i, p := range payloads {
		if _, may := scopes[ids[i]]; !may {
			plain[i] = p
			delete(opened, ids[i])
		}
	}
	return plain, reader.Record(r.Context(), opened, scopes)
}

// refuse responds with the sentence of a problem. The UI shows it beside the encrypted payload.
func (a AuditorsCodec) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problem.As(err)
	if p == nil {
		p = problem.NewUnavailable("The payloads cannot be decrypted at the moment. Retry after the Retry-After header.", err)
	}
	if p.Cause != nil {
		a.Log.WarnContext(r.Context(), "payloads of a history were not opened", "code", p.Code, "error", p.Cause.Error())
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	http.Error(w, p.Detail, problem.Of(p.Code).Status)
}
