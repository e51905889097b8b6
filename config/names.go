package config

import (
	"regexp"
	"strings"
)

// plainName is what pollers and outputs may be called.
var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

func goodName(s string) bool { return plainName.MatchString(s) && !strings.Contains(s, "__") }

const nameMend = "Write a letter and up to 39 further lower-case letters, digits and single underscores"

var groups = []string{pollersGroup, defaultsGroup, "state", "log", "status"}

// isGroup reports whether a first segment is one of ours.
func isGroup(segment string) bool {
	for _, g := range groups {
		if segment == g {
			return true
		}
	}
	return false
}

var (
	otherNesting = strings.NewReplacer(":", "__", ".", "__")
	underscores  = regexp.MustCompile(`[:._]+`)
)

// miss is a name that is not ours but was probably meant to be.
type miss struct {
	suggestion string // the name that was meant
	poller     string // whose poller it is, "" for the app's own
}

// nearMiss judges a name whose first segment is not ours exactly. It is careful: STATIC_PATH and LOGGING__LEVEL belong
// to somebody else.
func nearMiss(name string) (miss, bool) {
	lower := otherNesting.Replace(strings.ToLower(name))
	first, rest, nested := strings.Cut(lower, "__")
	if m, ok := pollerMiss(first, rest, nested); ok {
		return m, true
	}
	if nested {
		return groupMiss(first, rest)
	}
	// One underscore where two belong: state_kind. The first word must be ours exactly.
	first, rest, _ = strings.Cut(lower, "_")
	if !isGroup(first) {
		return miss{}, false
	}
	for _, s := range appSettings {
		group, key, _ := strings.Cut(s.name, "__")
		if group == first && distance(collapse(rest), collapse(key)) <= 1 {
			return miss{suggestion: s.name}, true
		}
	}
	return miss{}, false
}

// pollerMiss finds poller__orders__…, polers__orders__…, pollers_orders__… and pollers_orders_batch_size.
func pollerMiss(first, rest string, nested bool) (miss, bool) {
	if nested && distance(first, pollersGroup) <= 2 {
		name, _, _ := strings.Cut(rest, "__")
		return miss{suggestion: pollersGroup + "__" + rest, poller: name}, strings.Contains(rest, "__")
	}
	for _, prefix := range []string{"pollers_", "poller_"} {
		name, ok := strings.CutPrefix(first, prefix)
		switch {
		case !ok || name == "":
		case nested:
			return miss{suggestion: pollersGroup + "__" + name + "__" + rest, poller: name}, true
		default:
			return flatPollerMiss(name)
		}
	}
	return miss{}, false
}

// flatPollerMiss splits orders_batch_size at a setting that it ends in, the longest first.
func flatPollerMiss(flat string) (miss, bool) {
	best, key := "", ""
	for _, k := range pollerKeys() {
		c := "_" + collapse(k)
		if strings.HasSuffix(flat, c) && len(c) > len(key) {
			best, key = k, c
		}
	}
	name := strings.TrimSuffix(flat, key)
	if best == "" || name == "" {
		return miss{}, false
	}
	return miss{suggestion: pollersGroup + "__" + name + "__" + best, poller: name}, true
}

// rejoin finds pollers__orders_source__where beside a poller orders: one underscore where two belong makes another
// poller, and orders would run without its condition. A poller all of whose settings are such is none.
func (l *loader) rejoin() {
	for name, p := range l.pollers {
		for other, of := range l.pollers {
			group, ok := strings.CutPrefix(name, other+"_")
			if !ok || p.own == nil || of.own == nil || !allMissed(group, p.poller.written) {
				continue
			}
			delete(l.pollers, name)
			for key, written := range p.poller.written {
				l.miss(written, miss{suggestion: of.own.prefix + group + "__" + key, poller: other})
			}
			break
		}
	}
}

// allMissed reports whether none of the keys is a setting as it stands, and all are below group.
func allMissed[V any](group string, keys map[string]V) bool {
	for key := range keys {
		if isPollerKey(key) || !isPollerKey(group+"__"+key) {
			return false
		}
	}
	return true
}

func isPollerKey(key string) bool {
	if rest, ok := strings.CutPrefix(key, defaultName+"__"); ok {
		return lookup(outputSettings, rest) != nil
	}
	if rest, ok := strings.CutPrefix(key, furtherName+"__"); ok {
		_, rest, _ = strings.Cut(rest, "__")
		return lookup(outputSettings, rest) != nil
	}
	return lookup(pollerSettings, key) != nil
}

// groupMiss finds stat__kind and log:level: both the group and the key must be near.
func groupMiss(first, rest string) (miss, bool) {
	for _, s := range appSettings {
		group, key, _ := strings.Cut(s.name, "__")
		if distance(first, group) <= 1 && distance(collapse(rest), collapse(key)) <= len(key)/3 {
			return miss{suggestion: s.name}, true
		}
	}
	return miss{}, false
}

func collapse(s string) string { return underscores.ReplaceAllString(s, "_") }

// pollerKeys are all keys below pollers__<p>__, those of the default output included.
func pollerKeys() []string {
	var keys []string
	for _, s := range pollerSettings {
		keys = append(keys, s.name)
	}
	for _, s := range outputSettings {
		keys = append(keys, defaultName+"__"+s.name)
	}
	return keys
}

// nearest returns the known name that is closest to name, "" when none is within the limit. A known name also counts as
// near when its last segment is what was written: table for source__table.
func nearest(name string, known []string, limit int) string {
	best, least := "", limit+1
	for _, k := range known {
		d := distance(strings.ToLower(name), strings.ToLower(k))
		if i := strings.LastIndex(k, "__"); i >= 0 && strings.EqualFold(k[i+2:], name) {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the least number of letters to insert, remove or change that makes a of b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(diagonal+cost, row[j]+1, row[j+1]+1)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

// isDefault reports whether a setting stands below defaults__.
func isDefault(setting string) bool {
	return strings.HasPrefix(strings.ToLower(setting), defaultsGroup+"__")
}
