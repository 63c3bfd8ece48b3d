// Package extauthz responds to Envoy's and Istio's external authorization over gRPC (envoy.service.auth.v3). The filter must send whole bodies
// as bytes (with_request_body: allow_partial_message false, pack_as_bytes true) and the headers as they are (encode_raw_headers: true).
package extauthz

import (
	"context"
	"net/http"
	"net/netip"
	"net/textproto"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	"github.com/countersign-dev/countersign/gate/internal/answer"
	"github.com/countersign-dev/countersign/gate/internal/decide"
	"github.com/countersign-dev/countersign/gate/internal/principal"
	"github.com/countersign-dev/countersign/gate/internal/request"
)

// partialHeader is how Envoy reports whether it sent the whole body. Envoy removes a client's own.
const partialHeader = "X-Envoy-Auth-Partial-Body"

// Server implements the Authorization service.
type Server struct {
	authv3.UnimplementedAuthorizationServer
	Engine func() *decide.Engine
	Report func(v decide.Verdict)
	Peer   func(p *peer.Peer) principal.Peer
}

// Check decides one request.
func (s *Server) Check(ctx context.Context, in *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	engine := s.Engine()
	attributes := in.GetAttributes()
	h := attributes.GetRequest().GetHttp()
	header := make(http.Header)
	for _, pair := range h.GetHeaderMap().GetHeaders() {
		value := pair.GetValue()
		if len(pair.GetRawValue()) > 0 {
			value = string(pair.GetRawValue())
		}
		if name := pair.GetKey(); !strings.HasPrefix(name, ":") {
			header.Add(textproto.CanonicalMIMEHeaderKey(name), value)
		}
	}
	v := s.decide(ctx, engine, in, header)
	s.Report(v)
	if v.Passes() {
		return pass(header, v), nil
	}
	return deny(answer.Of(v)), nil
}

func (s *Server) decide(ctx context.Context, engine *decide.Engine, in *authv3.CheckRequest, header http.Header) decide.Verdict {
	h := in.GetAttributes().GetRequest().GetHttp()
	if len(h.GetHeaderMap().GetHeaders()) == 0 {
		return misconfigured("The filter must set encode_raw_headers: true.")
	}
	ip, _ := netip.ParseAddr(in.GetAttributes().GetSource().GetAddress().GetSocketAddress().GetAddress())
	match, v := engine.Match(request.Raw{Method: h.GetMethod(), Target: h.GetPath(), Host: h.GetHost(), Scheme: h.GetScheme(), Header: header, IP: ip, Removes: true})
	if match == nil {
		return v
	}
	if match.ReadsBody() {
		if h.GetBody() != "" {
			return misconfigured("The filter must set pack_as_bytes: true in with_request_body.")
		}
		match.Request.Body = body(h.GetRawBody(), header, engine.Config().Limits.BodyBytes)
	}
	peer, _ := peer.FromContext(ctx)
	return engine.Decide(ctx, match, s.Peer(peer))
}

// body is whole only if Envoy says so, and if its length is the one that the client declared.
func body(raw []byte, header http.Header, limit int) request.Body {
	whole := len(raw) > 0 && len(raw) <= limit && header.Get(partialHeader) == "false"
	if declared := header.Get("Content-Length"); declared != "" {
		whole = whole && declared == strconv.Itoa(len(raw))
	}
	return request.Body{Text: raw, Whole: whole}
}

func misconfigured(detail string) decide.Verdict {
	return decide.Verdict{Outcome: decide.Unavailable, Status: http.StatusServiceUnavailable, Code: "misconfigured", Detail: detail}
}

// pass lets the request through without the client's headers of Countersign, and with the proof.
func pass(header http.Header, v decide.Verdict) *authv3.CheckResponse {
	ok := &authv3.OkHttpResponse{}
	for name := range header {
		replaced := v.Proof != "" && strings.EqualFold(name, request.ProofHeader) // Envoy removes after it has set
		if request.Own(name) && request.Enforced(request.RuleOwn) && !replaced {
			ok.HeadersToRemove = append(ok.HeadersToRemove, strings.ToLower(name))
		}
	}
	if v.Proof != "" {
		ok.Headers = append(ok.Headers, option(request.ProofHeader, v.Proof, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	return &authv3.CheckResponse{Status: &status.Status{Code: int32(codes.OK)}, HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: ok}}
}

// deny responds to the client.
func deny(a answer.Answer) *authv3.CheckResponse {
	denied := &authv3.DeniedHttpResponse{Status: &typev3.HttpStatus{Code: typev3.StatusCode(a.Status)}, Body: string(a.Body)} // #nosec G115 -- an HTTP status
	for name, values := range a.Header {
		for _, value := range values {
			denied.Headers = append(denied.Headers, option(name, value, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
		}
	}
	return &authv3.CheckResponse{Status: &status.Status{Code: int32(codes.PermissionDenied)}, HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: denied}}
}

func option(name, value string, action corev3.HeaderValueOption_HeaderAppendAction) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: strings.ToLower(name), Value: value}, AppendAction: action}
}
