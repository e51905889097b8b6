package change

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"
)

func TestAppendValues(t *testing.T) {
	at := time.Date(2026, 4, 7, 1, 23, 45, 123456700, time.FixedZone("", 2*3600))
	for _, c := range []struct{ name, got, want string }{
		{"null", string(AppendNull(nil)), `null`},
		{"bool", string(AppendBool(nil, true)), `true`},
		{"safe int", string(AppendInt(nil, MaxSafeInteger)), `9007199254740991`},
		{"unsafe int", string(AppendInt(nil, MaxSafeInteger+1)), `"9007199254740992"`},
		{"negative safe int", string(AppendInt(nil, -MaxSafeInteger)), `-9007199254740991`},
		{"negative unsafe int", string(AppendInt(nil, math.MinInt64)), `"-9223372036854775808"`},
		{"unsafe uint", string(AppendUint(nil, math.MaxUint64)), `"18446744073709551615"`},
		{"digits", string(AppendIntegerText(nil, "9007199254740991")), `9007199254740991`},
		{"unsafe digits", string(AppendIntegerText(nil, "9007199254740992")), `"9007199254740992"`},
		{"uint64 digits", string(AppendIntegerText(nil, []byte("18446744073709551615"))), `"18446744073709551615"`},
		{"float", string(AppendFloat(nil, 0.1, 64)), `0.1`},
		{"float32", string(AppendFloat(nil, float64(float32(0.1)), 32)), `0.1`},
		{"tiny float", string(AppendFloat(nil, 5e-324, 64)), `5e-324`},
		{"nan", string(AppendFloat(nil, math.NaN(), 64)), `"NaN"`},
		{"infinity", string(AppendFloat(nil, math.Inf(-1), 64)), `"-Infinity"`},
		{"binary", string(AppendBinary(nil, []byte{0, 0xff})), `"AP8="`},
		{"date", string(AppendDate(nil, at)), `"2026-04-07"`},
		{"time", string(AppendTimeOfDay(nil, at)), `"01:23:45.1234567"`},
		{"datetime", string(AppendDateTime(nil, at)), `"2026-04-07T01:23:45.1234567"`},
		{"instant", string(AppendInstant(nil, at)), `"2026-04-06T23:23:45.1234567Z"`},
		{"offset", string(AppendOffsetTime(nil, at)), `"2026-04-07T01:23:45.1234567+02:00"`},
		{"whole second", string(AppendInstant(nil, at.Truncate(time.Second))), `"2026-04-06T23:23:45Z"`},
		{"string", string(AppendString(nil, "a\"\\\n\x01é😀<&>")), "\"a\\\"\\\\\\n\\u0001é😀<&>\""},
		{"invalid utf-8", string(AppendString(nil, "a\xffb")), `"a\ufffdb"`},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, c.got, c.want)
		}
		if !json.Valid([]byte(c.got)) {
			t.Errorf("%s: %s is not JSON", c.name, c.got)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\n\x01é😀")
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(AppendString(nil, s), &back); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if ValidText(s) && back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}

func FuzzAppendFloat(f *testing.F) {
	f.Add(1e21)
	f.Fuzz(func(t *testing.T, v float64) {
		b := AppendFloat(nil, v, 64)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		back, err := strconv.ParseFloat(string(b), 64)
		if err != nil || back != v || !json.Valid(b) {
			t.Fatalf("%v came back as %v from %s (%v)", v, back, b, err)
		}
	})
}
