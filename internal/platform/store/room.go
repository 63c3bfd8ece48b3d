package store

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// room is memory of one connection for the statement that each decision sends, and for the one that each frame commits with. pgx gives
// up its own after a message of more than a kilobyte, and would let it grow from there with each of them. A connection runs one statement
// at a time.
type room struct {
	message []byte // as it is sent
	values  []byte // the arguments as they are encoded, before they become the message
	filled  bool   // values was used
	row     roomyRow
}

// roomSize is the size of the memory for arguments, and half of that for messages. A decision with its proof and its event has a quarter of
// it, and a frame with a full session two thirds; larger statements, or more of them, get memory from pgx.
const roomSize = 16 << 10

// roomKey is the name of the room in the data of its connection.
const roomKey = "room"

// makeRoom is run for each new connection.
func makeRoom(_ context.Context, conn *pgx.Conn) error {
	r := &room{message: make([]byte, 2*roomSize), values: make([]byte, roomSize)}
	conn.PgConn().CustomData()[roomKey] = r
	m := conn.TypeMap()
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{r.plan}, m.TryWrapEncodePlanFuncs...)
	return nil
}

// roomOf returns the room of a connection of the pool: makeRoom ran for each of them.
func roomOf(conn *pgx.Conn) *room {
	r, _ := conn.PgConn().CustomData()[roomKey].(*room)
	return r
}

// restore wipes what was used and makes message the memory of the next statement.
func (r *room) restore(conn *pgx.Conn) {
	if r.filled {
		clear(r.values)
		r.filled = false
	}
	if !conn.IsClosed() {
		conn.PgConn().Frontend().Send(r)
	}
}

// Encode implements pgproto3.FrontendMessage, for a message without any bytes: it exchanges the memory that messages are appended to.
func (r *room) Encode(dst []byte) ([]byte, error) {
	if len(dst) > 0 || cap(dst) > 0 && &dst[:1][0] == &r.message[0] {
		return dst, nil
	}
	clear(r.message) // pgx gave it up after a large message
	return r.message[:0], nil
}

// Decode implements pgproto3.FrontendMessage. It is not called.
func (*room) Decode([]byte) error { return nil }

// Frontend implements pgproto3.FrontendMessage.
func (*room) Frontend() {}

var _ pgproto3.FrontendMessage = (*room)(nil)

// roomyArg is a text, the first argument of a statement whose arguments are encoded into the connection's room. On a connection
// without one it is a text like any other.
type roomyArg string

func roomyOf(s *string) *roomyArg { return (*roomyArg)(s) }

// Value implements driver.Valuer.
func (a *roomyArg) Value() (driver.Value, error) { return string(*a), nil }

// plan implements pgtype.TryWrapEncodePlanFunc.
func (r *room) plan(value any) (plan pgtype.WrappedEncodePlanNextSetter, next any, ok bool) {
	a, ok := value.(*roomyArg)
	return &roomyPlan{room: r}, (*textArg)(a), ok
}

// roomyPlan encodes a roomyArg.
type roomyPlan struct {
	room *room
	next pgtype.EncodePlan
}

// SetNext implements pgtype.WrappedEncodePlanNextSetter.
func (p *roomyPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

// Encode implements pgtype.EncodePlan. Behind other arguments the room may be in use.
func (p *roomyPlan) Encode(value any, buf []byte) ([]byte, error) {
	if len(buf) == 0 {
		p.room.filled = true
		buf = p.room.values[:0]
	}
	a, _ := value.(*roomyArg)
	return p.next.Encode((*textArg)(a), buf)
}

// roomyRow is the row of a statement on a connection that is released when the row is scanned.
type roomyRow struct {
	row  pgx.Row
	conn *pgxpool.Conn
	room *room
	err  error
}

// Scan implements pgx.Row.
func (r *roomyRow) Scan(dest ...any) error {
	if r.conn == nil {
		return r.err
	}
	conn := r.conn
	defer func() {
		r.room.restore(conn.Conn())
		*r = roomyRow{}
		conn.Release()
	}()
	return r.row.Scan(dest...)
}
