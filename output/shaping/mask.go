package shaping

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/rowrelay/rowrelay/change"
)

// hidden stands for what is not shown.
const hidden = "***"

// appendMasked appends a value, or its mask. NULL stays null.
func (s *Shaper) appendMasked(dst, value []byte, mask string) []byte {
	if mask == "" || string(value) == "null" {
		return append(dst, value...)
	}
	text := string(value)
	if value[0] == '"' {
		if err := json.Unmarshal(value, &text); err != nil {
			text = "" // no part of what cannot be read
		}
	}
	switch mask {
	case "hash":
		mac := hmac.New(sha256.New, []byte(s.rules.Secret))
		mac.Write([]byte(text))
		return change.AppendString(dst, hex.EncodeToString(mac.Sum(nil)[:16]))
	case "last4":
		if runes := []rune(text); len(runes) >= 8 { // of a shorter one, four would be too much
			return change.AppendString(dst, hidden+string(runes[len(runes)-4:]))
		}
	}
	return change.AppendString(dst, hidden)
}
