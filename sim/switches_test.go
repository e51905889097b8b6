package sim

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file puts many bugs into one program, each behind a switch: to build a program takes longer than to find most
// bugs. Beside each function that a bug changes stands a changed copy, which it calls where SIM_BUG names the bug.

// switchesOf declares the variable that holds the name of the bug.
const switchesOf = "package %s\n\nimport \"os\"\n\nvar seededBug = os.Getenv(\"SIM_BUG\")\n"

// put puts bugs into what is built, and returns those that cannot be switched: they change something else than bodies
// of functions whose parameters have names.
func (b *builder) put(bugs []*bug) (alone []*bug, err error) {
	files := map[string]*switched{}
	for _, bug := range bugs {
		changed := map[*switched]map[*ast.FuncDecl][]hunk{}
		for _, name := range bug.files {
			if files[name] == nil {
				if files[name], err = readSwitched(filepath.Join(b.root, name)); err != nil {
					return nil, err
				}
			}
			s := files[name]
			if changed[s], err = s.functions(bug.hunks[name]); err != nil {
				return nil, fmt.Errorf("%s: %w", bug.name, err)
			}
		}
		possible := true
		for _, functions := range changed {
			possible = possible && functions != nil
		}
		if !possible {
			alone = append(alone, bug)
			continue
		}
		for s, functions := range changed {
			for f, hunks := range functions {
				if err := s.change(f, bug.name, hunks); err != nil {
					return nil, fmt.Errorf("%s: %w", bug.name, err)
				}
			}
		}
	}
	for name, s := range files {
		if len(s.switches) == 0 {
			continue
		}
		dir := filepath.Dir(filepath.Join(b.root, name))
		if err := b.write(filepath.Join(b.root, name), s.text()); err != nil {
			return nil, err
		}
		if err := b.write(filepath.Join(dir, "seeded_bug.go"), fmt.Appendf(nil, switchesOf, s.file.Name)); err != nil {
			return nil, err
		}
	}
	return alone, nil
}

// switched is a source file with changed copies of its functions.
type switched struct {
	name     string
	data     []byte
	set      *token.FileSet
	file     *ast.File
	switches map[int]string // what is written at a place of data
	copies   []string
}

func readSwitched(name string) (*switched, error) {
	s := &switched{name: name, set: token.NewFileSet(), switches: map[int]string{}}
	var err error
	if s.data, err = os.ReadFile(name); err != nil {
		return nil, err
	}
	s.file, err = parser.ParseFile(s.set, name, s.data, parser.SkipObjectResolution)
	return s, err
}

func (s *switched) at(p token.Pos) int { return s.set.Position(p).Offset }

// functions returns in which functions the texts stand; nil where one stands elsewhere, or in one that cannot be
// switched.
func (s *switched) functions(hunks []hunk) (map[*ast.FuncDecl][]hunk, error) {
	in := map[*ast.FuncDecl][]hunk{}
	for _, h := range hunks {
		if err := h.once(s.name, s.data); err != nil {
			return nil, err
		}
		begin := bytes.Index(s.data, []byte(h.old))
		i := slices.IndexFunc(s.file.Decls, func(d ast.Decl) bool {
			return s.at(d.Pos()) <= begin && begin+len(h.old) <= s.at(d.End())
		})
		if i < 0 {
			return nil, nil
		}
		f, ok := s.file.Decls[i].(*ast.FuncDecl)
		if !ok {
			return nil, nil
		}
		if _, ok := calling(f, ""); !ok {
			return nil, nil
		}
		in[f] = append(in[f], h)
	}
	return in, nil
}

// change makes a copy of a function with a bug in it, and its switch.
func (s *switched) change(f *ast.FuncDecl, bug string, hunks []hunk) error {
	const head = "package p\n"
	text := head + string(s.data[s.at(f.Pos()):s.at(f.End())])
	for _, h := range hunks {
		text = strings.Replace(text, h.old, h.new, 1)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, s.name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	copied, ok := parsed.Decls[0].(*ast.FuncDecl)
	if !ok {
		return fmt.Errorf("%s: %s is no function with the bug in it", s.name, f.Name)
	}
	name := f.Name.Name + "_" + strings.ReplaceAll(bug, "-", "_")
	at := set.Position(copied.Name.Pos()).Offset
	s.copies = append(s.copies, text[len(head):at]+name+text[at+len(f.Name.Name):])
	called, _ := calling(f, name)
	if f.Type.Results == nil {
		called += "; return"
	} else {
		called = "return " + called
	}
	s.switches[s.at(f.Body.Lbrace)+1] += fmt.Sprintf(" if seededBug == %q { %s };", bug, called)
	return nil
}

// calling is a call of the copy of a function with what the function was called with; false where that has no names.
func calling(f *ast.FuncDecl, name string) (string, bool) {
	if f.Recv != nil {
		receiver := f.Recv.List[0].Names
		if len(receiver) == 0 || receiver[0].Name == "_" {
			return "", false
		}
		name = receiver[0].Name + "." + name
	}
	var args []string
	for _, field := range f.Type.Params.List {
		if len(field.Names) == 0 {
			return "", false
		}
		_, rest := field.Type.(*ast.Ellipsis)
		for _, n := range field.Names {
			if n.Name == "_" {
				return "", false
			}
			args = append(args, n.Name)
			if rest {
				args[len(args)-1] += "..."
			}
		}
	}
	return name + "(" + strings.Join(args, ", ") + ")", true
}

// text is the file with its switches and copies. A switch stands on the line of its function's brace, so that the lines
// of the product stay what they are.
func (s *switched) text() []byte {
	var out []byte
	for i, c := range s.data {
		out = append(append(out, s.switches[i]...), c)
	}
	for _, text := range s.copies {
		out = append(append(out, "\n"+text...), '\n')
	}
	return out
}
