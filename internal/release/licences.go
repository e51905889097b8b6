package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// permissive are the licences whose terms a program under Apache-2.0 meets by passing on their texts. None of them asks
// for the source of anything, nor for terms beyond Apache-2.0's own. Another licence is a decision for people.
var permissive = []string{"0BSD", "Apache-2.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT",
	"MIT-0", "Unlicense", "Zlib"}

// fileLevel are licences that hold for the files of the module alone, whoever uses them, and that Apache-2.0 goes
// together with. Whoever passes a binary on has to say where the source of those files is: writeTexts does (MPL-2.0,
// 3.2).
var fileLevel = []string{"MPL-2.0"}

// beside are texts that the classifier finds beside a licence and that grant more, without asking for anything.
var beside = []string{"GooglePatentsFile", "GooglePatentClause"}

// refuseUnknown fails for a module without a licence that is known, and for one that is not permissive.
func refuseUnknown(modules []module) error {
	for _, m := range modules {
		if len(m.licences) == 0 {
			return fmt.Errorf("no licence is known for %s %s: read its files, and leave it out of the binary if there is none",
				m.path, m.version)
		}
		for _, id := range m.licences {
			if !slices.Contains(slices.Concat(permissive, fileLevel, beside), id) {
				return fmt.Errorf("%s %s is under %s, which is not known to go together with Apache-2.0 in one binary: these are: %s",
					m.path, m.version, id, strings.Join(slices.Concat(permissive, fileLevel), ", "))
			}
		}
	}
	return nil
}

// spdx is the licence expression of a module: all of them hold, for some part of it.
func (m *module) spdx() string {
	ids := slices.DeleteFunc(slices.Clone(m.licences), func(id string) bool { return slices.Contains(beside, id) })
	return strings.Join(ids, " AND ")
}

// listOf is docs/licences.md.
func listOf(modules []module) []byte {
	var b bytes.Buffer
	b.WriteString(`# Licences of what is in the binary

<!-- Written by make licences (internal/release). Do not edit. -->

Rowrelay is under Apache-2.0. Its binary holds the packages of the modules below, on one or another of its platforms
(` + strings.Join(platforms, ", ") + `). Each licence was read from the files of the module, and of the
packages that are used, by [licensecheck](https://pkg.go.dev/github.com/google/licensecheck); AND means that parts are under one
and parts under the other. ` + "`make licences`" + ` fails for a licence that asks for more than to pass its text on, with one exception:
MPL-2.0, which holds for the files of its module alone and goes together with Apache-2.0; the module is used unchanged, and where its
source is, is said beside its text. No licence here reaches Rowrelay's own files, or those of other modules. The texts are in each
release, as THIRD-PARTY-LICENCES.txt.

What only tests, benchmarks and the release use is not listed.

| module | version | licence (SPDX) |
|---|---|---|
`)
	for i := range modules {
		m := &modules[i]
		version := m.version
		if m.path == standard {
			version = "that of the build"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.path, version, m.spdx())
	}
	return b.Bytes()
}

// writeTexts writes what has to go with the binary: every licence and notice. The same text is written once for a
// module.
func writeTexts(w io.Writer, modules []module) error {
	var b bytes.Buffer
	b.WriteString("Rowrelay's binary holds the following modules. These are their licences and notices.\n")
	for i := range modules {
		m := &modules[i]
		fmt.Fprintf(&b, "\n%s\n%s\n", strings.Repeat("=", 100), strings.TrimSpace(m.path+" "+m.version))
		b.WriteString(m.spdx() + "\n")
		if slices.ContainsFunc(m.licences, func(id string) bool { return slices.Contains(fileLevel, id) }) {
			fmt.Fprintf(&b, "Used unchanged. Its source: https://pkg.go.dev/%[1]s@%[2]s, or go mod download %[1]s@%[2]s\n",
				m.path, m.version)
		}
		b.WriteString(strings.Repeat("=", 100) + "\n")
		seen := map[string]bool{}
		for _, t := range m.texts {
			text := strings.TrimSpace(t.text)
			if seen[text] {
				continue
			}
			seen[text] = true
			fmt.Fprintf(&b, "\n[%s]\n\n%s\n", t.name, text)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
