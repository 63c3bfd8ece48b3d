package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/gate/internal/rpc"
)

// stopWithin is how long a program may take to end after its input is closed.
const stopWithin = 3 * time.Second

// program is a server that speaks over the standard streams of a process of its own.
type program struct {
	command     *exec.Cmd
	log         *slog.Logger
	limit       int
	unsolicited func(Event) // what the server sends by itself
	ended       chan struct{}

	write sync.Mutex
	stdin io.WriteCloser

	mu      sync.Mutex
	next    int64
	pending map[int64]*pending
}

// pending is a request that the program works on.
type pending struct {
	id       json.RawMessage // the client's
	progress string          // token
	out      Replier
	response chan *rpc.Message
}

// start runs a program.
func start(line, env []string, limit int, log *slog.Logger, unsolicited func(Event)) (*program, error) {
	p := &program{command: exec.Command(line[0], line[1:]...), log: log, limit: limit, unsolicited: unsolicited, ended: make(chan struct{}), pending: map[int64]*pending{}} // #nosec G204 -- the operator names it
	p.command.Env = env
	p.command.Stderr = &logWriter{log: log}
	p.command.WaitDelay = stopWithin
	var err error
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("the server's program does not start: %w", err)
	}
	go p.read(stdout)
	return p, nil
}

// read passes on what the program writes, until it ends.
func (p *program) read(stdout io.Reader) {
	lines := newLines(stdout, p.limit)
	for lines.Scan() {
		m, err := rpc.FromServer(lines.Bytes())
		if err != nil {
			p.log.Warn("the server wrote a line that is no message", "error", err.Error())
			continue
		}
		p.incoming(m)
	}
	close(p.ended)
	if err := p.command.Wait(); err != nil {
		p.log.Info("the server's program ended", "error", err.Error())
	}
}

func newLines(r io.Reader, limit int) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), limit)
	return lines
}

func (p *program) incoming(m *rpc.Message) {
	if m.Response() {
		if waiting := p.take(string(m.ID)); waiting != nil {
			m.ID = waiting.id
			waiting.response <- m
		}
		return
	}
	if m.Method == "notifications/cancelled" { // the server ends a subscription, by the gateway's id
		params := rpc.Members(m.Params)
		if waiting := p.find(string(params["requestId"])); waiting != nil {
			params["requestId"] = waiting.id
			m.Params = rpc.Object(params)
			waiting.out.Send(Event{Message: m})
		}
		return
	}
	if waiting := p.related(m); waiting != nil {
		waiting.out.Send(Event{Message: m})
		return
	}
	p.unsolicited(Event{Message: m})
}

// related finds the request that a notification belongs to: by its progress token, or as its subscription, whose id becomes the client's.
func (p *program) related(m *rpc.Message) *pending {
	params := rpc.Members(m.Params)
	p.mu.Lock()
	defer p.mu.Unlock()
	if token := string(params["progressToken"]); token != "" {
		for _, waiting := range p.pending {
			if waiting.progress == token {
				return waiting
			}
		}
	}
	meta := rpc.Members(params["_meta"])
	id, err := strconv.ParseInt(string(meta[metaSubscription]), 10, 64)
	if waiting := p.pending[id]; err == nil && waiting != nil {
		meta[metaSubscription] = waiting.id
		params["_meta"] = rpc.Object(meta)
		m.Params = rpc.Object(params)
		return waiting
	}
	return nil
}

// find returns the request with an id of the gateway.
func (p *program) find(id string) *pending {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pending[n]
}

// take returns the request with an id of the gateway, once.
func (p *program) take(id string) *pending {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.pending[n]
	delete(p.pending, n)
	return waiting
}

// Request sends a request with an id of the gateway, because several clients can use one program.
func (p *program) Request(ctx context.Context, _ *Client, o Outgoing, out Replier) error {
	waiting := &pending{id: o.Message.ID, out: out, response: make(chan *rpc.Message, 1),
		progress: string(rpc.Members(rpc.Members(o.Message.Params)["_meta"])["progressToken"])}
	p.mu.Lock()
	p.next++
	id := p.next
	p.pending[id] = waiting
	p.mu.Unlock()
	defer p.take(strconv.FormatInt(id, 10))
	sent := *o.Message
	sent.ID = json.RawMessage(strconv.FormatInt(id, 10))
	if err := p.line(&sent); err != nil {
		return err
	}
	select {
	case m := <-waiting.response:
		out.Send(Event{Message: m})
		return nil
	case <-p.ended:
		return errBroken
	case <-ctx.Done():
		if sent.Method != "initialize" {
			_ = p.line(&rpc.Message{Method: "notifications/cancelled", Params: json.RawMessage(fmt.Sprintf(`{"requestId":%d}`, id))}) // the program may have ended
		}
		return ctx.Err()
	}
}

// Send sends a notification or a response.
func (p *program) Send(_ context.Context, _ *Client, o Outgoing) error { return p.line(o.Message) }

func (p *program) line(m *rpc.Message) error {
	p.write.Lock()
	defer p.write.Unlock()
	_, err := p.stdin.Write(append(m.Text(), '\n'))
	return err
}

// Listen waits: what the program sends by itself goes to unsolicited.
func (p *program) Listen(ctx context.Context, _ *Client, _ string, _ Replier) error {
	select {
	case <-ctx.Done():
	case <-p.ended:
	}
	return nil
}

// End ends the program.
func (p *program) End(context.Context, *Client) error {
	p.Close()
	return nil
}

// Ended is closed once the program has ended.
func (p *program) Ended() <-chan struct{} { return p.ended }

// Close ends the program: first by closing its input.
func (p *program) Close() {
	p.write.Lock()
	_ = p.stdin.Close() // it may have ended by itself
	p.write.Unlock()
	select {
	case <-p.ended:
	case <-time.After(stopWithin):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// logWriter writes lines of a program's errors to the log, at the level debug: they may have anything in them.
type logWriter struct{ log *slog.Logger }

// Write logs a text.
func (w *logWriter) Write(text []byte) (int, error) {
	w.log.Debug("the server wrote to its standard error", "text", string(text))
	return len(text), nil
}
