package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/production"
)

// checkProduction goes through the production checklist. It sends nothing and changes nothing.
func checkProduction(ctx context.Context, c *console, names, accepted []string) error {
	for _, id := range accepted {
		if !production.Known(id) {
			return fmt.Errorf("--accept %s: there is no such item; docs/production.md lists them", id)
		}
	}
	a, chosen, err := c.look(names)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // nothing was written
	report := production.Judge(gather(ctx, c, a, chosen), accepted)
	if c.json {
		err = report.WriteJSON(c.out)
	} else {
		err = report.WriteText(c.out)
	}
	if err == nil && report.ToMend() > 0 {
		err = &exitError{errors.New("the production checklist has items to mend")}
	}
	return err
}
