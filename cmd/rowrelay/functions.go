package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/templates"
)

func newFunctions(c *console) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "functions [poller ...]",
		Short: "Write <poller>/function.json for each poller",
		Long: `Functions writes, for each poller of the settings, the timer function that the Azure Functions host reads: a folder of
the poller's name with a function.json made from templates/poller.json. Its schedule is the app setting
<POLLER>_SCHEDULE, for example ORDERS_SCHEDULE=*/10 * * * * *. (The host finds no setting whose name contains two
underscores from a function.json.)

An existing file is left alone unless --force is given.`,
		RunE: func(_ *cobra.Command, names []string) error { return writeFunctions(c, names, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite existing files")
	return cmd
}

func writeFunctions(c *console, names []string, force bool) error {
	cfg, err := load(c)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		for _, p := range cfg.Pollers {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return errors.New("the settings name no poller: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	for _, name := range names {
		name = strings.ToLower(name)
		if cfg.Poller(name) == nil {
			return fmt.Errorf("the settings name no poller %q", name)
		}
		if err := writeFunction(c, name, force); err != nil {
			return err
		}
	}
	return nil
}

func writeFunction(c *console, name string, force bool) error {
	dir := appRoot(c)
	path := filepath.Join(dir, name, "function.json")
	variable := scheduleVariable(name)
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		_, err = fmt.Fprintf(c.out, "%s exists, left alone (--force overwrites it)\n", path)
		return err
	}
	if err != nil {
		return err
	}
	if _, err := file.Write(templates.Poller(variable)); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s written; its schedule is the app setting %s\n", path, variable)
	return err
}

// scheduleVariable names the app setting of a poller's schedule, as its function.json does.
func scheduleVariable(name string) string { return strings.ToUpper(name) + "_SCHEDULE" }
