package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/config/localsettings"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/wiring"
)

// initFlags are the answers to what `rowrelay init` asks, and what it would propose.
type initFlags struct{ database, table, to, mode, cursor, key string }

func newInit(c *console) *cobra.Command {
	t := &target{console: c}
	var f initFlags
	cmd := t.flags(&cobra.Command{
		Use:   "init <poller>",
		Short: "Write the settings of a first poller, by what the database's catalog says",
		Long: `Init asks for the database, the table and the destination, looks at the catalog, and proposes the cursor, the key
and how late commits are found, each with its reason. Then it adds the settings to local.settings.json (--settings names
another file), writes host.json and <poller>/function.json as rowrelay functions does, and ends with rowrelay check.
What exists is left as it is.

Where no column grows with each change it proposes change tracking, whose triggers rowrelay track install creates.`,
		Example: `  rowrelay init orders
  rowrelay init orders --database sqlite:shop.db --table orders --to stdout --yes
  rowrelay init orders --database SHOP_DB --table dbo.orders --to https://example.com/hooks/orders --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.initPoller(cmd.Context(), strings.ToLower(args[0]), &f)
		},
	})
	cmd.Flags().StringVar(&f.database, "database", "", "a connection string, or the name of the setting that holds one")
	cmd.Flags().StringVar(&f.table, "table", "", "the table, with its schema where needed")
	cmd.Flags().StringVar(&f.to, "to", "", "the destination: stdout, or a URL")
	cmd.Flags().StringVar(&f.mode, "mode", "", "cursor or changetracking; default is what suits the table")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "the column that grows with each change; default is what suits the table")
	cmd.Flags().StringVar(&f.key, "key", "", "the columns that identify a row; default is the primary key")
	return cmd
}

func (t *target) initPoller(ctx context.Context, name string, f *initFlags) error {
	if err := t.environmentOnly("init"); err != nil {
		return err
	}
	cfg, err := load(t.console)
	if err != nil {
		return err
	}
	if cfg.Poller(name) != nil {
		return fmt.Errorf("the settings have a poller %s already: remove its settings first, or take another name", name)
	}
	if err := host.RefusedName(name); err != nil {
		return err
	}
	if err := t.askFor(f); err != nil {
		return err
	}
	values := map[string]string{}
	connection, err := t.database(name, f.database, values)
	if err != nil {
		return err
	}
	found, err := inspect.Propose(ctx, connection, f.table, 10*time.Second)
	if err != nil {
		return plaintext.Error(fmt.Errorf("looking at %s: %w", f.table, err))
	}
	if err := f.decide(found); err != nil {
		return err
	}
	if err := f.settings(name, cfg, found, values); err != nil {
		return err
	}
	t.forTheHost(name, values)
	if err := t.propose(ctx, name, found, values); err != nil {
		return err
	}
	if t.dryRun {
		return t.idle("dry run: nothing was written")
	}
	if err := t.confirmed(name); err != nil {
		return err
	}
	path := cmp.Or(t.settings, "local.settings.json")
	if err := localsettings.Add(path, values); err != nil {
		return err
	}
	if err := t.say("%s written", path); err != nil {
		return err
	}
	if err := writeFunctions(t.console, []string{name}, false); err != nil {
		return err
	}
	if found.Mode == mode.ChangeTracking {
		return t.done("next: rowrelay track install %s --apply, then rowrelay check %s", name, name)
	}
	if err := t.say(""); err != nil {
		return err
	}
	return check(ctx, t.console, []string{name}, 3, false)
}

// askFor asks for what no flag says.
func (t *target) askFor(f *initFlags) error {
	for _, q := range []struct {
		answer         *string
		flag, question string
	}{
		{&f.database, "database", "The database: a connection string, or the name of the setting that holds one"},
		{&f.table, "table", "The table"},
		{&f.to, "to", "The destination: stdout, or a URL"},
	} {
		if *q.answer != "" {
			continue
		}
		if _, err := fmt.Fprintf(t.talk(), "%s: ", q.question); err != nil {
			return err
		}
		line, err := t.typed()
		if *q.answer = strings.TrimSpace(line); *q.answer == "" {
			return errors.Join(fmt.Errorf("init needs --%s", q.flag), err)
		}
	}
	return nil
}

// database reads the connection. A string that was typed goes into a setting of its own, among values.
func (t *target) database(name, given string, values map[string]string) (connection engine.Connection, err error) {
	setting, text := given, t.env(given)
	if text == "" {
		setting, text = strings.ToUpper(name)+"_DB", given
		values[setting] = given
	}
	values["pollers__"+name+"__source__connection"] = setting
	return engines.ParseOf(setting, text)
}

// decide puts what the flags say in the place of what the catalog says.
func (f *initFlags) decide(p *inspect.Proposal) error {
	const said = "as you said"
	if f.key != "" {
		p.Key, p.KeyWhy, p.Default = []string{f.key}, said, false
	}
	if f.cursor != "" {
		p.Mode, p.Cursor, p.CursorWhy = mode.Cursor, f.cursor, said
	}
	switch m := mode.Mode(f.mode); {
	case m == "":
	case m != mode.Cursor && m != mode.ChangeTracking:
		return commandline.Mistaken("--mode is cursor or changetracking, and not %q", f.mode)
	case m == mode.Cursor && p.Cursor == "":
		return errors.New("the table has no column that grows with each change: name one (--cursor), or leave out --mode")
	case m == mode.ChangeTracking:
		p.Mode, p.Cursor, p.CursorWhy = m, "", said
	}
	if len(p.Key) == 0 || p.Mode == mode.ChangeTracking && !p.Default {
		return fmt.Errorf("%s has no primary key; %s", p.Table, p.KeyWhy)
	}
	return nil
}

// settings adds those of the poller to values.
func (f *initFlags) settings(name string, cfg *config.App, p *inspect.Proposal, values map[string]string) error {
	of := func(key, value string) { values["pollers__"+name+"__"+key] = strings.ReplaceAll(value, "%", "%%") }
	of("source__table", f.table)
	if p.Mode == mode.ChangeTracking {
		of("source__mode", string(p.Mode))
	} else {
		of("source__cursor", p.Cursor)
	}
	if !p.Default {
		of("source__key", strings.Join(p.Key, ", "))
	}
	switch u, err := url.Parse(f.to); {
	case f.to == "stdout":
		of("output__kind", f.to)
	case err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"):
		of("output__kind", "http")
		of("output__url", f.to)
	default:
		return errors.New("--to is stdout or a URL; other destinations: change output__kind afterwards (docs/settings.md)")
	}
	if cfg.State.Kind == "" {
		values["state__kind"] = "file"
	}
	return nil
}

// forTheHost adds what the Functions host reads and lacks.
func (t *target) forTheHost(name string, values map[string]string) {
	for key, value := range map[string]string{
		strings.ToUpper(name) + "_SCHEDULE": "*/10 * * * * *", "FUNCTIONS_WORKER_RUNTIME": "custom",
	} {
		if t.env(key) == "" {
			values[key] = value
		}
	}
}

// propose shows the settings, with what decided.
func (t *target) propose(ctx context.Context, name string, p *inspect.Proposal, values map[string]string) error {
	c := *t.console
	for key, value := range values {
		c.environ = append(slices.Clip(c.environ), key+"="+value)
	}
	cfg, _ := config.Load(c.environ)                                     // its error is the faults that it holds
	cfg.State = config.State{Kind: "memory", AppName: cfg.State.AppName} // nothing is written yet
	a := wiring.New(cfg, c.process())
	defer func() { _ = a.Close() }() // nothing was written
	w, err := a.Poller(name)
	if err != nil {
		return err
	}
	if err := wiring.Refuse(cfg, []*wiring.Poller{w}); err != nil {
		return err
	}
	out := &printing.Printer{W: t.talk()}
	out.Line("%s of %s", p.Table, w.Connection)
	out.Field("cursor", cmp.Or(p.Cursor, "none: change tracking")+": "+p.CursorWhy)
	out.Field("key", strings.Join(p.Key, ", ")+": "+p.KeyWhy)
	if p.Mode == mode.Cursor {
		found, err := w.Source.Check(ctx, nil, 1, w.Config.BatchSize)
		if err != nil {
			return plaintext.Error(err)
		}
		out.Field("late", fmt.Sprintf("%s: %s", found.Late, found.LateWhy))
		out.Field("index", cmp.Or(found.Index, found.CreateIndex+"  (there is none that serves the order)"))
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		switch {
		case key == values["pollers__"+name+"__source__connection"]:
			value = config.Secret(value).String()
		case strings.HasSuffix(key, "__url"):
			value = config.Address(value).String()
		}
		out.Line("  %s=%s", key, value)
	}
	return out.Err
}
