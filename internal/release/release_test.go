package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// tree makes a directory as a release packs one, with files written in another order, and with other modes and times.
func tree(t *testing.T, reverse bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rowrelay-v1")
	files := []string{"LICENSE", "man/man1/rowrelay.1", "rowrelay", "sbom.cdx.json"}
	if reverse {
		slices.Reverse(files)
	}
	for _, name := range files {
		mode := os.FileMode(0o644)
		if reverse {
			mode = 0o600
		}
		if name == "rowrelay" {
			mode |= 0o100
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("the text of "+name), 0o600),
			os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		if reverse {
			if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func packed(t *testing.T, dir, ending, epoch string) []byte {
	t.Helper()
	target := filepath.Join(t.TempDir(), "archive"+ending)
	if err := archive(target, dir, epoch); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Two directories with the same files give the same archive, whenever and however they were written; another time does
// not.
func TestArchivesAreReproducible(t *testing.T) {
	for _, ending := range []string{".tar.gz", ".zip"} {
		one, two := packed(t, tree(t, false), ending, "1767225600"), packed(t, tree(t, true), ending, "1767225600")
		if !bytes.Equal(one, two) {
			t.Errorf("%s: two archives of the same files differ", ending)
		}
		if bytes.Equal(one, packed(t, tree(t, false), ending, "1767225700")) {
			t.Errorf("%s: the time is not in the archive", ending)
		}
	}
	if err := archive(filepath.Join(t.TempDir(), "a.zip"), tree(t, false), ""); err == nil ||
		!strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("without a time: %v", err)
	}
}

func TestWhatIsInAnArchive(t *testing.T) {
	want := []string{"rowrelay-v1/LICENSE 644", "rowrelay-v1/man/man1/rowrelay.1 644", "rowrelay-v1/rowrelay 755",
		"rowrelay-v1/sbom.cdx.json 644"}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed(t, tree(t, true), ".tar.gz", "1767225600")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, h.Name+" "+h.FileInfo().Mode().String()[1:])
		if !h.ModTime.Equal(time.Unix(1767225600, 0)) || h.Uname != "" || h.Uid != 0 {
			t.Errorf("%s belongs to somebody, or has a time of its own: %+v", h.Name, h)
		}
	}
	assertModes(t, got, want)
	data := packed(t, tree(t, true), ".zip", "1767225600")
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, f := range z.File {
		got = append(got, f.Name+" "+f.Mode().String()[1:])
		if !f.Modified.Equal(time.Unix(1767225600, 0)) {
			t.Errorf("%s: %s", f.Name, f.Modified)
		}
	}
	assertModes(t, got, want)
}

func assertModes(t *testing.T, got, want []string) {
	t.Helper()
	spelt := strings.NewReplacer(" 644", " rw-r--r--", " 755", " rwxr-xr-x")
	for i := range want {
		if i >= len(got) || got[i] != spelt.Replace(want[i]) {
			t.Errorf("%q, want %q", got, want)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A licence that nobody has decided about stops the release, and so does a module without one.
func TestLicencesAreDecidedAbout(t *testing.T) {
	mit := licenceText{"LICENSE", readLicence(t)}
	for name, c := range map[string]struct {
		m    module
		says string
	}{
		"permissive": {module{path: "a", licences: []string{"MIT", "Apache-2.0"}}, ""},
		"file level": {module{path: "a", licences: []string{"MPL-2.0"}}, ""},
		"copyleft":   {module{path: "a", version: "v1", licences: []string{"MIT", "GPL-3.0"}}, "a v1 is under GPL-3.0"},
		"network":    {module{path: "a", licences: []string{"AGPL-3.0"}}, "AGPL-3.0"},
		"none":       {module{path: "a", version: "v1"}, "no licence is known for a v1"},
		"a notice": {module{path: "a", licences: licencesOf([]licenceText{{"NOTICE", "Copyright somebody"}})},
			"no licence is known"},
		"its text": {module{path: "a", licences: licencesOf([]licenceText{mit})}, ""},
	} {
		err := refuseUnknown([]module{c.m})
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := licencesOf([]licenceText{mit}); !slices.Equal(got, []string{"Apache-2.0"}) {
		t.Errorf("Rowrelay's own LICENSE is read as %q", got)
	}
}

func readLicence(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The list names what is in the binary, the Windows-only module too; nothing that only tests use; and go.mod's version
// of it.
func TestTheListIsThatOfTheBinary(t *testing.T) {
	modules, err := listModules(t.Context(), "../..", platforms)
	if err != nil {
		t.Fatal(err)
	}
	if err := refuseUnknown(modules); err != nil {
		t.Error(err)
	}
	goMod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range modules {
		found[m.path] = true
		if m.path != standard && !strings.Contains(string(goMod), m.path+" "+m.version) {
			t.Errorf("go.mod does not have %s %s", m.path, m.version)
		}
		if len(m.texts) == 0 {
			t.Errorf("%s has no text to pass on", m.path)
		}
	}
	if !found["github.com/inconshreveable/mousetrap"] || !found["modernc.org/sqlite"] || !found[standard] ||
		found["github.com/google/go-cmp"] {
		t.Errorf("the list is not that of the binary on every platform: %v", found)
	}
	var texts bytes.Buffer
	if err := writeTexts(&texts, modules); err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if !strings.Contains(texts.String(), strings.TrimSpace(m.path+" "+m.version)) {
			t.Errorf("the texts lack %s", m.path)
		}
	}
	if !strings.Contains(texts.String(), "go mod download github.com/go-sql-driver/mysql@") {
		t.Error("the texts do not say where the source of a module under MPL-2.0 is")
	}
}

func TestSBOM(t *testing.T) {
	modules := []module{{path: "example.com/A", version: "v1+x", sum: "h1:abc", licences: []string{"MIT"}},
		{path: standard, licences: []string{"BSD-3-Clause"}}}
	var one, two bytes.Buffer
	if err := errors.Join(writeSBOM(&one, modules, "linux/amd64", "v1.2.3"),
		writeSBOM(&two, modules, "linux/amd64", "v1.2.3")); err != nil {
		t.Fatal(err)
	}
	if one.String() != two.String() {
		t.Error("two bills of materials of one binary differ")
	}
	var bom cdx.BOM
	if err := json.Unmarshal(one.Bytes(), &bom); err != nil {
		t.Fatal(err)
	}
	components := *bom.Components
	if len(components) != 2 || components[0].PackageURL != "pkg:golang/example.com/a@v1%2Bx" ||
		components[0].Name != "example.com/A" || components[1].Name != "std" || components[1].Version == "" {
		t.Errorf("%+v", components)
	}
	if bom.Metadata.Component.Version != "v1.2.3" || bom.SerialNumber != "" || bom.Metadata.Timestamp != "" {
		t.Errorf("%+v", bom.Metadata)
	}
}

// The list covers the platforms that are built.
func TestPlatformsAreThoseOfTheScript(t *testing.T) {
	script, err := os.ReadFile("../../scripts/release.sh")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^readonly PLATFORMS=\((.*)\)$`).FindSubmatch(script)
	if m == nil || !slices.Equal(strings.Fields(string(m[1])), platforms) {
		t.Errorf("scripts/release.sh builds %s, and the licences are those of %q", m, platforms)
	}
}

func TestKeepList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "licences.md")
	if err := keepList(path, []byte("a"), true); err == nil {
		t.Error("a list that is missing is taken for current")
	}
	if err := errors.Join(keepList(path, []byte("a"), false), keepList(path, []byte("a"), true)); err != nil {
		t.Error(err)
	}
	if err := keepList(path, []byte("b"), true); err == nil || !strings.Contains(err.Error(), "make licences") {
		t.Errorf("%v", err)
	}
}
