package scalar

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
)

// Text returns what a JSON scalar says: a string without its quotes, a number or boolean as it is written.
func Text(scalar []byte) (string, error) {
	if len(scalar) == 0 || scalar[0] == '{' || scalar[0] == '[' || string(scalar) == "null" {
		return "", errors.New("it is not a string, number or boolean")
	}
	if scalar[0] != '"' {
		return string(scalar), nil
	}
	var text string
	if err := json.Unmarshal(scalar, &text); err != nil {
		return "", fmt.Errorf("read it: %w", err)
	}
	return text, nil
}

// IsDecimal reports whether text is digits with a sign, and a fraction where one is allowed.
func IsDecimal(text string, fraction bool) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	whole, frac, point := strings.Cut(text, ".")
	if point && (!fraction || frac == "") {
		return false
	}
	for _, r := range whole + frac {
		if r < '0' || r > '9' {
			return false
		}
	}
	return whole != ""
}

// Binary reads base64.
func Binary(scalar []byte) (any, error) {
	s, err := Text(scalar)
	if err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("expected base64")
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

// BigInteger reads an integer beyond ±(2^53−1) as it stands in a string of JSON, and nothing else: text with a plus or
// with zeros in front of it is text.
func BigInteger(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= change.MaxSafeInteger && n >= -change.MaxSafeInteger || strconv.FormatInt(n, 10) != text {
		return 0, false
	}
	return n, true
}

// ErrNotUTF8 says that a text has no form in JSON.
var ErrNotUTF8 = errors.New("its text is not valid UTF-8, which JSON cannot hold")

// AppendCompact appends JSON without the white space between its tokens. The database vouches for it being JSON.
func AppendCompact(dst, v []byte) ([]byte, error) {
	if !change.ValidText(v) {
		return dst, ErrNotUTF8
	}
	start := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			for i++; i < len(v) && v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
		case ' ', '\t', '\n', '\r':
			dst = append(dst, v[start:i]...)
			start = i + 1
		}
	}
	return append(dst, v[start:]...), nil
}
