package nested

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/rowrelay/rowrelay/config"
)

// Format writes KEY=VALUE strings as a file from which [Read] returns the same names and values; their order is the
// file's. The error is a [config.Faults]: of a name that is there twice, and of what no YAML can hold.
func Format(list []string) ([]byte, error) {
	var faults config.Faults
	root := &branch{}
	seen := map[string]bool{}
	for _, pair := range list {
		name, value, _ := strings.Cut(pair, "=")
		lower := strings.ToLower(name)
		switch {
		case seen[lower]:
			faults.Add(name, "is set twice, in two spellings", "Remove one of the two")
		case name == "" || !utf8.ValidString(pair):
			faults.Add(name, "is no text that YAML can hold", "Remove it, or let it be read from a file by its name and _FILE")
		case config.Ours(name):
			root.put(segments(name), value)
		default:
			root.put([]string{envKey, name}, value)
		}
		seen[lower] = true
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root.node(true)); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

// segments are those of a name; one with an empty segment stands as it is.
func segments(name string) []string {
	path := strings.Split(name, separator)
	if slices.Contains(path, "") {
		return []string{name}
	}
	return path
}

// branch is what stands at a name, and below it.
type branch struct {
	value *string
	below map[string]*branch
}

func (b *branch) put(path []string, value string) {
	if len(path) == 0 {
		b.value = &value
		return
	}
	if b.below == nil {
		b.below = map[string]*branch{}
	}
	next := b.below[path[0]]
	if next == nil {
		next = &branch{}
		b.below[path[0]] = next
	}
	next.put(path[1:], value)
}

// node is the branch in YAML.
func (b *branch) node(top bool) *yaml.Node {
	mapping := &yaml.Node{Kind: yaml.MappingNode}
	b.into(mapping, "", top)
	return mapping
}

// into adds what is below a branch to a mapping. What stands below a name that has a value too cannot be below it in
// YAML: it stands beside it, with its whole name.
func (b *branch) into(mapping *yaml.Node, prefix string, top bool) {
	for _, name := range b.names(top) {
		next := b.below[name]
		if next.value != nil {
			mapping.Content = append(mapping.Content, text(prefix+name), text(*next.value))
		}
		switch {
		case len(next.below) == 0:
		case next.value != nil:
			next.into(mapping, prefix+name+separator, false)
		default:
			mapping.Content = append(mapping.Content, text(prefix+name), next.node(false))
		}
	}
}

// order is that of the groups in a file; others come between.
var order = map[string]int{"state": 1, "log": 2, "status": 3, "defaults": 5, "pollers": 6, envKey: 7}

func (b *branch) names(top bool) []string {
	names := make([]string, 0, len(b.below))
	for name := range b.below {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		if top {
			if by := cmp.Compare(cmp.Or(order[x], 4), cmp.Or(order[y], 4)); by != 0 {
				return by
			}
		}
		return cmp.Compare(x, y)
	})
	return names
}

// text is a value as it is: plain where YAML reads it back unchanged.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: s}
	var back yaml.Node
	plain := yaml.Unmarshal([]byte("a: "+s), &back) == nil && len(back.Content) == 1
	if plain {
		v := back.Content[0].Content
		plain = len(v) == 2 && v[1].Kind == yaml.ScalarNode && v[1].Value == s && v[1].Style == 0 && v[1].Tag != "!!null" &&
			v[1].Anchor == "" && !strings.Contains(s, "\n") && v[1].LineComment == ""
	}
	if !plain {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
