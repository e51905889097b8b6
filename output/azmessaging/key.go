package azmessaging

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxKey is the most that SessionId, PartitionKey, MessageId and Subject take, in the services' characters: UTF-16
// units.
const maxKey = 128

// Key returns a message's key as the services take it: itself up to 128 characters, and beyond that its beginning, "~"
// and the SHA-256 of all of it. Equal keys stay equal, and different ones different, so that an aggregate has one
// session and one partition whatever its id.
func Key(key string) string {
	if utf8.ValidString(key) && units(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return cut(key, maxKey-1-2*len(sum)) + "~" + hex.EncodeToString(sum[:])
}

// cut returns the beginning of s, at most that many UTF-16 units, in valid UTF-8.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "")
	n := 0
	for i, r := range s {
		if n += utf16.RuneLen(r); n > most {
			return s[:i]
		}
	}
	return s
}

// units is the length of s in UTF-16 units.
func units(s string) int {
	if len(s) <= maxKey {
		return len(s) // it has no more units than bytes
	}
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
