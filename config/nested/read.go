package nested

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rowrelay/rowrelay/config"
)

// separator stands between the segments of a setting's name.
const separator = "__"

// envKey holds what is no setting of ours.
const envKey = "env"

// maxFile bounds the file: a larger one was named by mistake.
const maxFile = 8 << 20

// Read returns the settings of a file as KEY=VALUE strings, as [config.Load] and [config.Merge] take them, in the order
// of the file. The error wraps that of reading the file, or is a [config.Faults] of all that is wrong with it; it never
// holds a value.
func Read(path string) ([]string, error) {
	f, err := os.Open(path) //nolint:gosec // the command line names it
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the configuration: %w", err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("read the configuration: %s holds more than %d bytes", path, maxFile)
	}
	list, faults := parse(path, data)
	return list, faults.Err()
}

func parse(path string, data []byte) ([]string, config.Faults) {
	r := &reader{path: path, first: map[string]int{}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var file, another yaml.Node
	switch err := decoder.Decode(&file); {
	case errors.Is(err, io.EOF):
		r.faults.Add(path, "is empty", "Describe a poller: docs/settings.md lists the settings")
		return nil, r.faults
	case err != nil:
		r.syntax(data, err)
		return nil, r.faults
	}
	switch err := decoder.Decode(&another); {
	case err == nil:
		r.fault(another.Line, "begins a further document", "Write everything in one, without ---")
	case !errors.Is(err, io.EOF):
		r.syntax(data, err)
	}
	root := file.Content[0]
	if root.Kind == yaml.MappingNode {
		r.mapping("", root)
	} else {
		r.fault(root.Line, "is no mapping", "Write names and values: `state: {kind: file}`")
	}
	return r.list, r.faults
}

// reader turns the nodes of a file into settings.
type reader struct {
	path   string
	list   []string
	first  map[string]int // the line of each name, by its lower case
	faults config.Faults
}

func (r *reader) fault(line int, problem, mend string) {
	r.faults.Add(fmt.Sprintf("%s, line %d", r.path, line), problem, mend)
}

// mapping adds what stands below a name; "" is the file itself.
func (r *reader) mapping(above string, node *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if !r.plain(key, "a name") {
			continue
		}
		name := key.Value
		switch {
		case key.Kind != yaml.ScalarNode || name == "" || strings.Contains(name, "="):
			r.fault(key.Line, "holds something that is no name", "Write a setting's name: docs/settings.md lists them")
			continue
		case above != "":
			name = above + separator + name
		}
		r.value(name, key.Line, value)
	}
}

// value adds what a name stands for.
func (r *reader) value(name string, line int, node *yaml.Node) {
	shown := strings.TrimPrefix(name, envKey+separator)
	switch {
	case !r.plain(node, shown):
	case node.Kind == yaml.MappingNode:
		r.mapping(name, node)
	case node.Kind == yaml.SequenceNode && len(node.Content) > 0 && node.Content[0].Kind == yaml.MappingNode:
		r.fault(node.Line, shown+" is a list",
			"Leave the hyphens out: settings stand below their name, as in `pollers: {orders: {…}}`")
	case node.Kind == yaml.SequenceNode:
		r.fault(node.Line, shown+" is a list", "Write one text: columns are separated by commas, as in `key: region, id`")
	case node.Tag == "!!null" && (name == envKey || config.Ours(name+separator+"x") && !config.Ours(name)):
		// a group of which nothing is set
	case node.Tag == "!!null":
		r.add(name, line, "")
	default:
		r.add(name, line, node.Value)
	}
}

// plain refuses what YAML has beyond mappings and texts.
func (r *reader) plain(node *yaml.Node, what string) bool {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		r.fault(node.Line, what+" has an anchor or refers to one",
			"Write it out; what all pollers have belongs below defaults")
	case node.Style&yaml.TaggedStyle != 0:
		r.fault(node.Line, what+" has a tag", "Leave it out: values are taken as text")
	default:
		return true
	}
	return false
}

// add adds one setting, or a variable of others.
func (r *reader) add(name string, line int, value string) {
	plain, others := strings.CutPrefix(name, envKey+separator)
	switch lower := strings.ToLower(plain); {
	case !others && !config.Ours(name):
		r.fault(line, name+" is no setting",
			"At the top stand state, log, status, defaults and pollers; put other variables, such as connections, below env")
	case r.first[lower] > 0:
		r.fault(line, fmt.Sprintf("%s is set a second time (before: line %d)", plain, r.first[lower]),
			"Remove one of the two")
	default:
		r.first[lower] = line
		r.list = append(r.list, plain+"="+value)
	}
}

var errorLine = regexp.MustCompile(`\bline (\d+)`)

// syntax says where the file is no YAML. The parser's own text is left out: it can quote a piece of a value.
func (r *reader) syntax(data []byte, err error) {
	const mend = "Indent with blanks, write a blank after each colon, and quote a value that begins with % * & ! | > @ { [ or `"
	line := 0
	if m := errorLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits; one that overflows is no line
	}
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		r.faults.Add(r.path, "is no YAML", mend)
		return
	}
	// The parser counts from 0 in some errors and from 1 in others.
	for at := line; at <= min(line+1, len(lines)); at++ {
		if _, value, ok := bytes.Cut(lines[at-1], []byte(":")); ok && bytes.HasPrefix(bytes.TrimSpace(value), []byte("%")) {
			r.fault(at, "has a value that begins with a percent sign", "Put it in quotes: '%NAME%'")
			return
		}
	}
	r.fault(line, "is no YAML, there or just below", mend)
}
