package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Found are the tables that a poller stands for.
type Found struct {
	Tables []Table
	// Out are matching tables that are left out, each with the reason.
	Out []string
}

// Table is a table by its names, and as source__table is written.
type Table struct{ Schema, Name, Written string }

// LoadTables is [Load] where each poller with source__tables has become one for each table that find returns: with the
// name of the poller and of the table (sales_orders), and all its settings. A setting below that name wins over that of
// the poller. expanded is the environment that says so. What find fails for is a fault of the poller.
func LoadTables(list []string, find func(*Poller) (Found, error)) (app *App, expanded []string) {
	patterns, _ := load(list) // its faults are said below
	faults, warnings := map[string]Fault{}, Faults(nil)
	expanded = list
	var kept []string
	made := map[string]string{} // the pattern of each poller
	// The longer name first: a table that is made later, of shop, does not take the place of one of shop_a.
	for _, p := range slices.SortedStableFunc(slices.Values(patterns.Pollers), func(a, b *Poller) int {
		return cmp.Compare(len(b.Name), len(a.Name))
	}) {
		if p.Source.Tables == "" {
			continue
		}
		setting := p.Setting(tablesKey)
		if len(p.Faults) > 0 {
			kept = append(kept, p.Name)
			continue
		}
		found, err := find(p)
		if err != nil {
			faults[p.Name] = Fault{Setting: setting, Problem: "its tables cannot be listed: " + err.Error()}
			continue
		}
		names := pollersOf(p, &found)
		possible := len(names)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if other := taken(expanded, name, names[name]); other != "" {
				found.Out = append(found.Out, fmt.Sprintf("%s (its poller would be %s, which %s describes)", names[name].Written,
					name, cmp.Or(made[name], other)))
				delete(names, name)
				continue
			}
			made[name] = setting
		}
		if possible == 0 {
			faults[p.Name] = Fault{Setting: setting, Problem: "means no table that can be watched" + leftOut(found.Out),
				Mend: "A table needs the columns of source__cursor, and source__key or a primary key"}
			continue
		}
		if len(found.Out) > 0 {
			warnings.Add(setting, fmt.Sprintf("leaves out %d of the tables that it means%s", len(found.Out), leftOut(found.Out)),
				"Exclude them in the pattern, or describe each by a poller of its own")
		}
		expanded = spreadTables(expanded, p.Name, names)
	}
	app, _ = load(expanded)
	app.Pollers = slices.DeleteFunc(app.Pollers, func(p *Poller) bool {
		_, described := p.written["source__connection"]
		of := slices.IndexFunc(patterns.Pollers, func(q *Poller) bool {
			return q.Source.Tables != "" && strings.HasPrefix(p.Name, q.Name+"_")
		})
		if described || of < 0 {
			return false
		}
		warnings.Add(pollersGroup+"__"+p.Name, "is for a table that "+patterns.Pollers[of].Setting(tablesKey)+
			" does not mean now", "Remove its settings, if the table does not come back")
		return true
	})
	for _, p := range app.Pollers {
		if f, failed := faults[p.Name]; failed {
			p.Faults = Faults{f}
		} else if p.Source.Tables != "" && !slices.Contains(kept, p.Name) {
			p.refuseTables()
		}
	}
	app.Warnings = append(app.Warnings, warnings...)
	app.Warnings.sort()
	return app, expanded
}

// leftOut lists reasons, the first few.
func leftOut(out []string) string {
	const most = 10
	switch {
	case len(out) == 0:
		return ""
	case len(out) > most:
		return fmt.Sprintf(": %s, and %d more", strings.Join(out[:most], ", "), len(out)-most)
	}
	return ": " + strings.Join(out, ", ")
}

var noLetters = regexp.MustCompile(`[^a-z0-9]+`)

// pollersOf names the poller of each table, and leaves out what cannot have one. Of two tables with one name the one
// that is written so has it: a table that is made later does not take another's place.
func pollersOf(p *Poller, found *Found) map[string]Table {
	slugs := map[string][]Table{}
	for _, t := range found.Tables {
		if p.Source.Matching.schemas() {
			t.Name = t.Schema + "_" + t.Name
		}
		slug := strings.Trim(noLetters.ReplaceAllString(strings.ToLower(t.Name), "_"), "_")
		slugs[slug] = append(slugs[slug], t)
	}
	names := map[string]Table{}
	for _, slug := range slices.Sorted(maps.Keys(slugs)) {
		name := p.Name + "_" + slug
		tables := slugs[slug]
		slices.SortStableFunc(tables, func(a, b Table) int {
			return cmp.Compare(distance(a.Name, slug), distance(b.Name, slug))
		})
		switch {
		case slug == "" || !goodName(name):
			for _, t := range tables {
				found.Out = append(found.Out, t.Written+" (no poller can be called "+name+")")
			}
			continue
		case len(tables) == 1 || tables[0].Name == slug && tables[1].Name != slug:
			names[name] = tables[0]
			tables = tables[1:]
		}
		for _, t := range tables {
			found.Out = append(found.Out, t.Written+" (another table's poller is called "+name+", too)")
		}
	}
	return names
}

// taken returns the setting by which a poller of this name reads something else than the table: one that is described,
// or that of another pattern; "" for none.
func taken(list []string, name string, table Table) string {
	for _, pair := range list {
		setting, value, _ := strings.Cut(pair, "=")
		key, its := strings.CutPrefix(withoutFile(strings.ToLower(setting)), pollersGroup+"__"+name+"__")
		switch {
		case !its || value == "":
		case key == tablesKey, key == "source__query":
			return setting
		case key == "source__table" && !strings.Contains(value, "%"): // what comes from elsewhere is not known here
			last := value[strings.LastIndex(value, ".")+1:]
			if !strings.EqualFold(strings.Trim(last, "\"[]` "), table.Name) && !strings.EqualFold(value, table.Written) {
				return setting
			}
		}
	}
	return ""
}

// withoutFile is a name, in lower case, without what says that a file holds the value: either way it is set.
func withoutFile(name string) string { return strings.TrimSuffix(name, strings.ToLower(fileSuffix)) }

// spreadTables puts pollers in the place of one.
func spreadTables(list []string, poller string, tables map[string]Table) []string {
	prefix := pollersGroup + "__" + poller + "__"
	var out, settings []string
	have := map[string]bool{}
	for _, pair := range list {
		name, _, _ := strings.Cut(pair, "=")
		lower := strings.ToLower(name)
		have[withoutFile(lower)] = true
		switch {
		case !strings.HasPrefix(lower, prefix):
			out = append(out, pair)
		case withoutFile(lower) != prefix+tablesKey:
			settings = append(settings, pair[len(prefix):])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		own := pollersGroup + "__" + name + "__"
		table := "source__table=" + strings.ReplaceAll(tables[name].Written, "%", "%%")
		for _, pair := range append(slices.Clip(settings), table) {
			key, _, _ := strings.Cut(strings.ToLower(pair), "=")
			if !have[own+withoutFile(key)] {
				out = append(out, own+pair)
			}
		}
	}
	return out
}
