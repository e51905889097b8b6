package filestore

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
)

// Store is a [state.Store] in a directory.
type Store struct {
	dir   string
	locks sync.Map // file → chan struct{} of capacity 1: turns within this process
	// step is told of each step of a write, and may fail it: the tests' failpoint, nil otherwise.
	step func(name string) error
}

// helperPrefix marks the files that are not documents: locks, counters, temporary files. No escaped key has a part that
// begins with it.
const helperPrefix = "~"

// file returns the path of a document. Every slash of a key begins a directory; in each part, everything but lower-case
// letters, digits, and the likes of '-', '_', '.' is written as %XX: file systems that ignore case must not take two
// keys for one, and a key cannot leave the directory.
func (s *Store) file(key string) string {
	parts := strings.Split(key, "/")
	for i, part := range parts {
		parts[i] = escape(part)
	}
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

func lockFile(file string) string    { return helper(file, ".lock") }
func counterFile(file string) string { return helper(file, ".count") }

func helper(file, suffix string) string {
	return filepath.Join(filepath.Dir(file), helperPrefix+filepath.Base(file)+suffix)
}

// reserved are names that mean devices to Windows, with or without an extension.
var reserved = map[string]bool{"con": true, "prn": true, "aux": true, "nul": true}

func escape(part string) string {
	if part == "" {
		return "%"
	}
	var b strings.Builder
	stem, _, _ := strings.Cut(part, ".")
	device := reserved[stem] || len(stem) == 4 && (strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt"))
	for i := range len(part) {
		c := part[i]
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
		// A dot at either end would be "." or "..", a hidden file, or lost on Windows.
		if dot := c == '.' && (i == 0 || i == len(part)-1); dot || i == 0 && device {
			plain = false
		}
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unescape returns the key of a file, or false for one that no key leads to.
func unescape(relative string) (string, bool) {
	parts := strings.Split(relative, "/")
	for i, part := range parts {
		if part == "%" {
			parts[i] = ""
			continue
		}
		key, err := url.PathUnescape(part)
		if err != nil || escape(key) != part {
			return "", false
		}
		parts[i] = key
	}
	return strings.Join(parts, "/"), true
}
