package main

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := execute(context.Background(), []string{"version"}, nil, nil, &out, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "rowrelay ") || !strings.Contains(out.String(), runtime.Version()) ||
		strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	if err := execute(context.Background(), []string{"version", "--json"}, nil, nil, &out, &out); err != nil {
		t.Fatal(err)
	}
	var got build
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != thisBuild() {
		t.Errorf("%+v, %v", got, err)
	}
}

// A release is told by the linker; everything else is told by what Go wrote into the binary.
func TestWhereTheVersionComesFrom(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	for name, c := range map[string]struct {
		from build
		info debug.BuildInfo
		want string
	}{
		"release": {build{Version: "v1.2.3", Commit: "def"},
			debug.BuildInfo{Main: debug.Module{Version: "v9"}, Settings: vcs}, "rowrelay v1.2.3 (commit def)"},
		"go install @v1.2.3": {build{Version: "dev"}, debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}},
			"rowrelay v1.2.3"},
		"go build in a clone": {build{Version: "dev"},
			debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs}, "rowrelay dev (commit abc, modified)"},
		"go build without a clone": {build{Version: "dev"}, debug.BuildInfo{}, "rowrelay dev"},
	} {
		c.from.complete(&c.info)
		if got, _, _ := strings.Cut(c.from.String(), ", go"); got != c.want &&
			!strings.HasPrefix(c.from.String(), c.want+", ") {
			t.Errorf("%s: %q, want %q", name, c.from, c.want)
		}
	}
}

// TestVersionFlag: what every other program answers to.
func TestVersionFlag(t *testing.T) {
	var flag, command, errs bytes.Buffer
	if err := execute(t.Context(), []string{"--version"}, nil, nil, &flag, &errs); err != nil {
		t.Fatal(err)
	}
	if err := execute(t.Context(), []string{"version"}, nil, nil, &command, &errs); err != nil ||
		flag.String() != command.String() {
		t.Errorf("%v: %q, want %q", err, flag.String(), command.String())
	}
}
