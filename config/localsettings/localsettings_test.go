package localsettings

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "local.settings.json")
	const noValues = "FILE: has no Values: settings beside it, or in a file without it, have no effect. Put them below Values: {\"Values\": {\"state__kind\": \"file\"}}."
	for _, c := range []struct {
		name, file string
		want       []string
		fault      string // "" for none; FILE stands for the path
	}{
		{"plain", `{"IsEncrypted": false, "Values": {"b": "2", "a": "x=y"}, "Host": {"CORS": "*"}}`, []string{"a=x=y", "b=2"},
			""},
		{"comments and trailing commas",
			"\xef\xbb\xbf{ // local\n \"Values\": { /* one, */ \"u\": \"http://h//x /* y */ ,}\", // last\n }, }",
			[]string{"u=http://h//x /* y */ ,}"}, ""},
		{"escapes", `{"Values": {"a": "q\"//\\"}}`, []string{`a=q"//\`}, ""},
		{"no values in it", `{"IsEncrypted": false, "Values": {}}`, nil, ""},
		{"only what Core Tools read", `{"IsEncrypted": false, "Host": {"LocalHttpPort": 7071}}`, nil, ""},
		{"only connection strings", `{"ConnectionStrings": {}}`, nil, ""},
		{"no Values", `{"state__kind": "hunter2"}`, nil, noValues},
		{"nothing", `{}`, nil, noValues},
		{"Values of null", `{"Values": null}`, nil, noValues},
		{"not strings", `{"Values": {"a": 1, "b": true, "c": null, "d": "ok"}}`, []string{"d=ok"},
			"FILE, Values.a: is not a string: the Functions host takes strings only. Put the value in quotes.\n" +
				"FILE, Values.b: is not a string: the Functions host takes strings only. Put the value in quotes.\n" +
				"FILE, Values.c: is not a string: the Functions host takes strings only. Put the value in quotes."},
		{"encrypted", `{"IsEncrypted": true, "Values": {"a": "xx"}}`, nil,
			"FILE: is encrypted (IsEncrypted is true). Run `func settings decrypt` beside it."},
		{"broken", "{\n\"Values\": {\"a\": \"1\"\n\"hunter2\"}}", nil,
			"FILE: is not JSON with an object of Values (line 3). " +
				"Write {\"IsEncrypted\": false, \"Values\": {\"state__kind\": \"file\"}}."},
		{"another shape", `{"Values": ["hunter2"]}`, nil,
			"FILE: is not JSON with an object of Values. " +
				"Write {\"IsEncrypted\": false, \"Values\": {\"state__kind\": \"file\"}}."},
	} {
		testfile.Write(t, path, c.file)
		got, err := Read(path)
		said := ""
		if err != nil {
			said = strings.ReplaceAll(err.Error(), path, "FILE")
		}
		if !slices.Equal(got, c.want) || said != c.fault {
			t.Errorf("%s: %q\n%s", c.name, got, said)
		}
	}
	if _, err := Read(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

// JSON without comments stays what it is; whatever comes, the length stays, so that the places of errors are right.
func FuzzPlainJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, 2]}`, "{// x\n}", `{"a": "//", }`, "/*", "/", `"\`, `[1,/* */]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		plain := plainJSON([]byte(s))
		if len(plain) != len(s) {
			t.Fatalf("%q became %q", s, plain)
		}
		if json.Valid([]byte(s)) && string(plain) != s {
			t.Fatalf("%q became %q", s, plain)
		}
		if again := plainJSON(plain); json.Valid(plain) && string(again) != string(plain) {
			t.Fatalf("%q became %q and then %q", s, plain, again)
		}
	})
}
