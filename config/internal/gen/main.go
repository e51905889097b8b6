// Command gen writes the settings reference: go run ./config/internal/gen docs/settings.md, from the root.
package main

import (
	"fmt"
	"os"

	"github.com/rowrelay/rowrelay/config"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: gen FILE")
	}
	f, err := os.Create(args[0])
	if err != nil {
		return fmt.Errorf("create the reference: %w", err)
	}
	if err := config.WriteReference(f); err != nil {
		_ = f.Close() // the first error is the one to tell
		return err
	}
	return f.Close()
}
