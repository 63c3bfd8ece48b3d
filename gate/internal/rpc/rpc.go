// Package rpc reads and writes the JSON-RPC messages of MCP. A message of a client has one meaning or is refused; what is sent on is written
// afresh from what was read.
package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/countersign-dev/countersign/sdk/go/exact"
)

// Codes of errors, of JSON-RPC and of MCP.
const (
	CodeParse          = -32700
	CodeInvalid        = -32600
	CodeMethod         = -32601
	CodeParams         = -32602
	CodeInternal       = -32603
	CodeHeaderMismatch = -32020
	CodeCapability     = -32021
	CodeVersion        = -32022
)

// Message is a request, a notification or a response.
type Message struct {
	ID     json.RawMessage // nil of a notification
	Method string          // empty of a response
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// Error is the error of a response.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// wire is a message as it is sent.
type wire struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// FromClient reads a message of a client. The error is an *Error: the message is ambiguous or not JSON-RPC.
func FromClient(text []byte) (*Message, error) {
	if err := exact.Check(text); errors.Is(err, exact.ErrSyntax) {
		return nil, &Error{Code: CodeParse, Message: "The message is not JSON."}
	} else if err != nil {
		return nil, &Error{Code: CodeInvalid, Message: "The message is ambiguous: " + err.Error() + "."}
	}
	m, err := FromServer(text)
	if err != nil {
		return nil, &Error{Code: CodeInvalid, Message: "The message is not one request, notification or response of JSON-RPC 2.0: " + err.Error() + "."}
	}
	return m, nil
}

// FromServer reads a message of a server, whose content may have any form.
func FromServer(text []byte) (*Message, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, errors.New("it must be an object")
	}
	m := &Message{ID: members["id"], Method: String(members["method"]), Params: members["params"], Result: members["result"], Error: members["error"]}
	switch {
	case String(members["jsonrpc"]) != "2.0":
		return nil, errors.New("jsonrpc must be 2.0")
	case m.ID != nil && !validID(m.ID) && (m.Error == nil || string(m.ID) != "null"):
		return nil, errors.New("id must be a text or a whole number")
	case m.Params != nil && !bytes.HasPrefix(bytes.TrimSpace(m.Params), []byte("{")):
		return nil, errors.New("params must be an object")
	case m.Method != "" && (m.Result != nil || m.Error != nil), m.Method == "" && (m.Result == nil) == (m.Error == nil):
		return nil, errors.New("it must have either method, result or error")
	case m.Method == "" && m.ID == nil && m.Error == nil:
		return nil, errors.New("a response must have an id")
	}
	return m, nil
}

func validID(id json.RawMessage) bool {
	var value any
	if json.Unmarshal(id, &value) != nil {
		return false
	}
	switch v := value.(type) {
	case string:
		return len(v) <= 1024
	case float64:
		return !bytes.ContainsAny(id, ".eE")
	}
	return false
}

// Request reports whether the message expects a response.
func (m *Message) Request() bool { return m.Method != "" && m.ID != nil }

// Response reports whether the message is one.
func (m *Message) Response() bool { return m.Method == "" }

// Text returns the message as JSON on one line.
func (m *Message) Text() []byte {
	text, err := json.Marshal(wire{"2.0", m.ID, m.Method, m.Params, m.Result, m.Error})
	if err != nil {
		text, _ = json.Marshal(wire{JSONRPC: "2.0", ID: m.ID, Error: json.RawMessage(`{"code":-32603,"message":"The message cannot be written."}`)})
	}
	return text
}

// Result returns the response to a request.
func Result(id json.RawMessage, result any) *Message {
	text, err := json.Marshal(result)
	if err != nil {
		return Failure(id, &Error{Code: CodeInternal, Message: "The result cannot be written."})
	}
	return &Message{ID: id, Result: text}
}

// Failure returns the response to a request that failed.
func Failure(id json.RawMessage, e *Error) *Message {
	text, err := json.Marshal(e)
	if err != nil {
		text = []byte(`{"code":-32603,"message":"The error cannot be written."}`)
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	return &Message{ID: id, Error: text}
}

// Members returns the members of an object; none of anything else.
func Members(object json.RawMessage) map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(object, &members) // what is no object has no members
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	return members
}

// Object returns an object of members.
func Object(members map[string]json.RawMessage) json.RawMessage {
	text, err := json.Marshal(members)
	if err != nil {
		return json.RawMessage("{}")
	}
	return text
}

// String returns a text; empty of anything else.
func String(value json.RawMessage) string {
	var s string
	_ = json.Unmarshal(value, &s) // anything else is empty
	return s
}
