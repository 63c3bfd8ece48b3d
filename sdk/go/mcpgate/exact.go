package mcpgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
)

// maxNumber is the most characters of a number: a double needs no more than 25.
const maxNumber = 64

// exact refuses arguments with numbers that a double cannot represent. Two of them can have the same digest: a tool
// that reads 64-bit integers would run with a different account number than the approved one.
func exact(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New("the arguments must be an object")
		}
		if n, ok := token.(json.Number); ok && !isExact(string(n)) {
			return fmt.Errorf("the number %.24s is too large or too long to be exact: send it as a string", n)
		}
	}
}

func isExact(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > maxNumber {
		return false
	}
	if f == 0 {
		return !bytes.ContainsAny([]byte(mantissa(text)), "123456789") // what is only rounded to 0 has a huge exponent
	}
	sent, ok := new(big.Rat).SetString(text)
	if !ok {
		return false
	}
	kept, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && sent.Cmp(kept) == 0
}

// mantissa returns a number's digits before its exponent.
func mantissa(text string) string {
	if i := bytes.IndexAny([]byte(text), "eE"); i >= 0 {
		return text[:i]
	}
	return text
}
