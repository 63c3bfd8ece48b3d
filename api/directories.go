package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/account/directory"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/scim"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// directoryHandlers serves SCIM 2.0 below directory.Path, to the directories of tenants with tokens of their own. Its contract is RFC 7643 and 7644,
// not the OpenAPI document.
type directoryHandlers struct {
	base        context.Context // ends with the process
	directories *directory.Service
	chain       *middleware.Chain
	log         *slog.Logger
}

// scimTimeout is the deadline of a request: one page of members may give roles to thousands. A response must begin before writeTimeout.
const scimTimeout = 50 * time.Second

// scimLimits bound a document: MaxBody with members of two keys each.
var scimLimits = strictjson.Limits{MaxDepth: 12, MaxKeys: 100_000}

// scimRequest is a request that has been authenticated.
type scimRequest struct {
	c      *fiber.Ctx
	caller directory.Caller
	id     string // of the resource; empty for all
}

// scimKind are the operations on one kind of resource.
type scimKind struct {
	list           func(context.Context, directory.Caller, scim.Query) (map[string]any, error)
	get            func(ctx context.Context, c directory.Caller, id string, q scim.Query) (directory.Resource, error)
	create         func(ctx context.Context, c directory.Caller, body any) (directory.Resource, error)
	replace, patch scimEdit
	remove         func(ctx context.Context, c directory.Caller, id string, match directory.IfMatch) error
}

type scimEdit func(ctx context.Context, c directory.Caller, id string, match directory.IfMatch, body any) (directory.Resource, error)

func (h *directoryHandlers) mount(app *fiber.App) {
	serve := func(c *fiber.Ctx) error {
		request.SetRoute(c, "scim")
		ctx, cancel := context.WithTimeout(context.WithoutCancel(request.Context(c)), scimTimeout)
		defer cancel()
		defer context.AfterFunc(h.base, cancel)()
		request.SetContext(c, ctx)
		if err := h.serve(c); err != nil {
			return h.refuse(c, err)
		}
		return nil
	}
	app.All(directory.Path, serve)
	app.All(directory.Path+"/*", serve)
}

// serve authenticates a request and calls the operation of its method and path.
func (h *directoryHandlers) serve(c *fiber.Ctx) error {
	token, err := middleware.Bearer(c)
	if err != nil {
		return err
	}
	leave, err := h.chain.EnterOutside(request.Context(c), "directories")
	if err != nil {
		return err
	}
	defer leave()
	r := &scimRequest{c: c}
	if r.caller, err = h.directories.Authenticate(request.Context(c), string(token)); err != nil {
		return err
	}
	r.caller.RequestID = request.ID(c)
	path := strings.TrimPrefix(c.Path(), directory.Path)
	if document := scim.Document(h.directories.URL(), path); document != nil {
		if c.Method() != fiber.MethodGet {
			return notAllowed(c, fiber.MethodGet)
		}
		return send(c, http.StatusOK, document)
	}
	if path == "/.search" {
		r.id = ".search"
		return scimKind{list: h.directories.Search}.serve(r)
	}
	name, id, one := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	kind, known := map[string]scimKind{"Users": h.users(), "Groups": h.groups()}[name]
	if !known || one && id == "" || strings.Contains(id, "/") {
		return scim.NotFound()
	}
	r.id = id
	return kind.serve(r)
}

func (k scimKind) serve(r *scimRequest) error {
	method := r.c.Method()
	switch {
	case r.id == ".search" && method == fiber.MethodPost:
		return k.search(r)
	case r.id == ".search":
		return notAllowed(r.c, fiber.MethodPost)
	case r.id == "" && method == fiber.MethodGet:
		q, err := queryOf(r.c)
		if err != nil {
			return err
		}
		return k.page(r, q)
	case r.id == "" && method == fiber.MethodPost:
		return r.change(http.StatusCreated, func(ctx context.Context, body any) (directory.Resource, error) { return k.create(ctx, r.caller, body) })
	case r.id == "":
		return notAllowed(r.c, fiber.MethodGet, fiber.MethodPost)
	}
	switch method {
	case fiber.MethodGet:
		return k.read(r)
	case fiber.MethodPut:
		return r.edit(k.replace)
	case fiber.MethodPatch:
		return r.edit(k.patch)
	case fiber.MethodDelete:
		if err := k.remove(request.Context(r.c), r.caller, r.id, r.match()); err != nil {
			return err
		}
		return r.c.SendStatus(http.StatusNoContent)
	}
	return notAllowed(r.c, fiber.MethodGet, fiber.MethodPut, fiber.MethodPatch, fiber.MethodDelete)
}

func (k scimKind) page(r *scimRequest, q scim.Query) error {
	out, err := k.list(request.Context(r.c), r.caller, q)
	if err != nil {
		return err
	}
	return send(r.c, http.StatusOK, out)
}

// search is a list whose query is in the body (RFC 7644, section 3.4.3).
func (k scimKind) search(r *scimRequest) error {
	if _, err := bodyOf(r.c); err != nil {
		return err
	}
	var in struct {
		Filter             string   `json:"filter"`
		StartIndex         *int     `json:"startIndex"`
		Count              *int     `json:"count"`
		Attributes         []string `json:"attributes"`
		ExcludedAttributes []string `json:"excludedAttributes"`
	}
	if err := strictjson.Unmarshal(request.Body(r.c), &in); err != nil {
		return scim.Bad(scim.InvalidValue, "filter must be a text, startIndex and count whole numbers, attributes and excludedAttributes lists of texts.")
	}
	q, err := scim.NewQuery(in.Filter, in.StartIndex, in.Count, in.Attributes, in.ExcludedAttributes)
	if err != nil {
		return err
	}
	return k.page(r, q)
}

func (k scimKind) read(r *scimRequest) error {
	q, err := queryOf(r.c)
	if err != nil {
		return err
	}
	out, err := k.get(request.Context(r.c), r.caller, r.id, q)
	if err != nil {
		return err
	}
	r.c.Set(fiber.HeaderETag, out.ETag)
	if known := r.c.Get(fiber.HeaderIfNoneMatch); known == out.ETag || known == "*" {
		return r.c.SendStatus(http.StatusNotModified)
	}
	return send(r.c, http.StatusOK, out.Body)
}

func (r *scimRequest) edit(edit scimEdit) error {
	return r.change(http.StatusOK, func(ctx context.Context, body any) (directory.Resource, error) {
		return edit(ctx, r.caller, r.id, r.match(), body)
	})
}

// change calls an operation with the body.
func (r *scimRequest) change(status int, operation func(context.Context, any) (directory.Resource, error)) error {
	q, err := queryOf(r.c)
	if err != nil {
		return err
	}
	body, err := bodyOf(r.c)
	if err != nil {
		return err
	}
	out, err := operation(request.Context(r.c), body)
	if err != nil {
		return err
	}
	r.c.Set(fiber.HeaderETag, out.ETag)
	r.c.Set(fiber.HeaderLocation, out.Location)
	return send(r.c, status, q.Project(out.Body))
}

func (r *scimRequest) match() directory.IfMatch {
	return directory.IfMatch(r.c.Get(fiber.HeaderIfMatch))
}

func (h *directoryHandlers) users() scimKind {
	d := h.directories
	return scimKind{list: d.ListUsers, get: d.GetUser, create: d.CreateUser, replace: d.ReplaceUser, patch: d.PatchUser, remove: d.DeleteUser}
}

func (h *directoryHandlers) groups() scimKind {
	d := h.directories
	return scimKind{list: d.ListGroups, get: d.GetGroup, create: d.CreateGroup, replace: d.ReplaceGroup, patch: d.PatchGroup, remove: d.DeleteGroup}
}

// queryOf reads the query of a list. Numbers that cannot be read are refused, and so is a parameter that is given twice: programs disagree about
// which one counts.
func queryOf(c *fiber.Ctx) (scim.Query, error) {
	for _, name := range []string{"startIndex", "count", "filter", "attributes", "excludedAttributes"} {
		if len(c.Context().QueryArgs().PeekMulti(name)) > 1 {
			return scim.Query{}, scim.Bad(scim.InvalidValue, "%s must be given once.", name)
		}
	}
	number := func(name string) (*int, error) {
		text := c.Query(name)
		if text == "" {
			return nil, nil //nolint:nilnil // a missing number is no error
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, scim.Bad(scim.InvalidValue, "%s must be a whole number.", name)
		}
		return &n, nil
	}
	start, err := number("startIndex")
	if err != nil {
		return scim.Query{}, err
	}
	count, err := number("count")
	if err != nil {
		return scim.Query{}, err
	}
	return scim.NewQuery(c.Query("filter"), start, count, names(c.Query("attributes")), names(c.Query("excludedAttributes")))
}

func names(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// bodyOf decodes a body. Providers send it as SCIM or as plain JSON.
func bodyOf(c *fiber.Ctx) (any, error) {
	raw := request.Body(c)
	if len(raw) > scim.MaxBody {
		return nil, &scim.Error{Status: http.StatusRequestEntityTooLarge, Detail: "The body has " + strconv.Itoa(len(raw)) + " bytes; the limit is " + strconv.Itoa(scim.MaxBody) + "."}
	}
	media, _, _ := bytes.Cut(c.Request().Header.ContentType(), []byte{';'})
	if m := strings.ToLower(string(bytes.TrimSpace(media))); m != scim.MediaType && m != fiber.MIMEApplicationJSON {
		return nil, &scim.Error{Status: http.StatusUnsupportedMediaType, Detail: "Content-Type must be application/scim+json."}
	}
	body, err := strictjson.Decode(raw, scimLimits)
	if err != nil {
		return nil, scim.Bad(scim.InvalidSyntax, "%s", err.Error())
	}
	return body, nil
}

func send(c *fiber.Ctx, status int, body any) error {
	return c.Status(status).JSON(body, scim.MediaType)
}

func notAllowed(c *fiber.Ctx, methods ...string) error {
	c.Set(fiber.HeaderAllow, strings.Join(methods, ", "))
	return &scim.Error{Status: http.StatusMethodNotAllowed, Detail: "This endpoint supports " + strings.Join(methods, ", ") + "."}
}

// refuse writes the response for an error in the form of SCIM.
func (h *directoryHandlers) refuse(c *fiber.Ctx, err error) error {
	var own *scim.Error
	if errors.As(err, &own) {
		return send(c, own.Status, own.Body())
	}
	p := request.ProblemOf(err)
	out := &scim.Error{Status: problem.Of(p.Code).Status, Detail: p.Detail}
	switch {
	case p.Code == problem.Unprocessable:
		out = scim.Bad(scim.InvalidValue, "The change cannot be made: %s.", p.Fields[0].Msg)
	case p.Code == problem.Unauthenticated:
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="countersign"`)
	case out.Status >= http.StatusInternalServerError:
		h.log.LogAttrs(request.Context(c), slog.LevelError, "request failed",
			slog.String("request_id", request.ID(c)), slog.String("route", request.Route(c)), slog.String("error", err.Error()))
	}
	request.SetProblemCode(c, p.Code)
	request.SetRetryAfter(c, p)
	return send(c, out.Status, out.Body())
}
