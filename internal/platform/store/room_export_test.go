package store

import (
	"context"
	"slices"
)

// EchoRoomy sends two texts as the first arguments of a decision and returns them as the server received them, with the memory of the
// connection afterwards.
func EchoRoomy(ctx context.Context, st *Store, first, second string) (out [2]string, memory []byte, err error) {
	if err = st.queryRow(ctx, "select $1::text, $2::text", roomyOf(&first), textOf(&second)).Scan(&out[0], &out[1]); err != nil {
		return out, nil, err
	}
	conn, err := st.pool.Acquire(ctx)
	if err != nil {
		return out, nil, err
	}
	defer conn.Release()
	r := roomOf(conn.Conn())
	return out, slices.Concat(r.values, r.message), nil
}

// ExchangedMemory returns what a connection's memory for messages is exchanged for.
func ExchangedMemory(message []byte) ([]byte, error) {
	r := &room{message: make([]byte, roomSize)}
	return r.Encode(message)
}
