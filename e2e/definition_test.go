package e2e

import (
	"strings"
	"testing"
)

// TestChangedDefinition: a source that is defined in another way stops the poller, which names the ways on; each of
// them, followed to the letter, lets it go on: an explicit reset accepts the definition that the settings have now.
func TestChangedDefinition(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]settings{
		"filter": {"pollers__orders__source__where": "status <> 'gone'"},
		"cursor": {"pollers__orders__source__cursor": "id"},
		"query": {"pollers__orders__source__table": "", "pollers__orders__source__query": "SELECT * FROM orders",
			"pollers__orders__source__key": "id"},
		"late commits": {"pollers__orders__source__late_commits": "none"},
		"both":         {"pollers__orders__source__late_commits": "none", "pollers__orders__source__cursor": "id"},
	} {
		for _, output := range []string{"", "archive"} {
			for _, way := range []string{"state reset", "state accept-fingerprint", "--to latest",
				"--to cursor=3 --ties before"} {
				if output != "" && (way[0] == '-' || name == "query" || name == "both") {
					continue // the same code, once more
				}
				t.Run(strings.Join([]string{name, output, way}, " "), func(t *testing.T) {
					t.Parallel()
					to := newSink(t)
					s, db := sqliteShop(t, to.URL, 5)
					if output != "" {
						s["pollers__orders__outputs__archive__kind"] = "stdout"
					}
					dir := t.TempDir()
					once(t, dir, s)
					now := s.with(changed)
					out, errs, err := command(t, dir, now, "run", "--once")
					if exitCode(t, err) != 1 {
						t.Fatalf("another definition was passed over: %s%s", out, errs)
					}
					wants(t, out+errs, "fingerprint_mismatch")
					line := out + errs
					if output != "" { // each output says what its own document needs
						for text := range strings.Lines(out + errs) {
							if strings.Contains(text, `"output":"archive"`) {
								line = text
							}
						}
						wants(t, line, "--output archive")
						operate(t, dir, now, advised(t, strings.ReplaceAll(out+errs, "--output archive", ""), "state reset orders")...)
					}
					args := []string{"state", "reset", "orders"}
					if way[0] == '-' {
						args = append(args, strings.Fields(way)...)
					} else {
						args = advised(t, line, way+" orders")
					}
					operate(t, dir, now, args...)
					execute(t, db, `INSERT INTO orders (version, status) VALUES (6, 'new')`)
					until(t, "the new row", func() bool {
						once(t, dir, now)
						return to.column("version")["6"] > 0
					})
					if again := to.column("version")["1"] - 1; way == "state reset" && again == 0 ||
						way == "--to latest" && again > 0 {
						t.Errorf("%s: the first row came again %d times", way, again)
					}
				})
			}
		}
	}
}
