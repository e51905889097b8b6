package plan

import (
	"bytes"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// MayTie reports whether the database may hold a stored cursor equal to a position, in the order columns of which those
// that count are named; nil is all.
func (p *Plan) MayTie(stored []byte, next keyset.Position, counts []bool) bool {
	pos, err := p.Decode(stored)
	if err != nil {
		return true // not of this plan: nothing shows that they differ
	}
	for n, v := range next {
		if counts != nil && !counts[n] {
			continue
		}
		k := p.Sel.Order[n].Value.Kind
		if v == nil || sameValue(k, pos[n], v) || p.folds(k, pos[n]) && p.folds(k, v) {
			continue
		}
		return false
	}
	return true
}

// folds reports whether a value is text that a collation may hold equal to another. In SQLite a uuid is text, and an
// integer beyond 2^53 is none although it is quoted.
func (p *Plan) folds(k engine.Kind, v []byte) bool {
	if v[0] != '"' || !p.StoredTimes {
		return k == engine.KindText
	}
	_, integer := scalar.BigInteger(string(v[1 : len(v)-1]))
	return !integer && (k == engine.KindText || k == engine.KindUUID)
}

// sameValue reports whether two values of a kind are equal, however they are written.
func sameValue(k engine.Kind, a, b []byte) bool {
	switch k {
	case engine.KindDecimal:
		return bytes.Equal(shortest(a), shortest(b))
	case engine.KindOffsetTime:
		at, ok := timeform.Parse(a, time.UTC)
		other, alsoOK := timeform.Parse(b, time.UTC)
		if ok && alsoOK {
			return at.Equal(other)
		}
	}
	return bytes.Equal(a, b)
}

// shortest is a decimal without quotes and without zeros at the end of its fraction.
func shortest(v []byte) []byte {
	v = bytes.Trim(v, `"`)
	if bytes.IndexByte(v, '.') < 0 || bytes.ContainsAny(v, "eE") {
		return v
	}
	return bytes.TrimSuffix(bytes.TrimRight(v, "0"), []byte("."))
}
