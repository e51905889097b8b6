package dsn

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzSplitADO: whatever is split can be written again and splits the same, and no fault shows a value.
func FuzzSplitADO(f *testing.F) {
	f.Add(`Server=tcp:h,1;Database='a''b';Password="x;""y";`)
	f.Add(`a==b=c;;=;'`)
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := SplitADO(text)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, p := range pairs {
			b.WriteString(strings.ReplaceAll(p.Key, "=", "==") + `="` + strings.ReplaceAll(p.Value, `"`, `""`) + `";`)
		}
		again, err := SplitADO(b.String())
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		if fmt.Sprint(again) != fmt.Sprint(pairs) {
			t.Fatalf("%q became %q", pairs, again)
		}
	})
}
