package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
)

func judgeSecrets(f *facts) answer {
	var names, local []string
	for _, name := range f.secretSettings() {
		if slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		for written := range f.local {
			if strings.EqualFold(written, name) {
				local = append(local, name)
			}
		}
	}
	switch {
	case len(names) == 0:
		return good("no setting holds a secret")
	case len(local) > 0:
		return bad("put them into the app's settings, as references to a Key Vault, and leave the file to development", "local.settings.json holds %s", list(local))
	}
	return unknown("", "these hold secrets, as far as the app sees: %s", list(names))
}

// secretSettings are the settings with a secret in them, some more than once.
func (f *facts) secretSettings() (names []string) {
	for _, l := range f.allLinks() {
		if l.secret {
			names = append(names, f.holder(l.setting))
		}
	}
	if f.hostKey() {
		names = append(names, hostStorage)
	}
	for _, p := range f.pollers {
		for i := range p.w.cfg.Outputs {
			names = append(names, f.outputSecrets(p.w.cfg, &p.w.cfg.Outputs[i])...)
		}
	}
	if f.app.cfg.Status.Token != "" {
		names = append(names, "status__token")
		names = append(names, f.referred("status__token")...)
	}
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		if name := "OTEL_EXPORTER_OTLP_" + signal + "HEADERS"; f.env(name) != "" {
			names = append(names, name)
		}
		if name := "OTEL_EXPORTER_OTLP_" + signal + "ENDPOINT"; secretInURL(f.env(name)) != "" {
			names = append(names, name)
		}
	}
	return names
}

// holder is the setting that holds the secret of a connection: with the secret of a service principal it is one below the
// connection's name.
func (f *facts) holder(connection string) string {
	if below := connection + "__clientSecret"; f.env(connection) == "" && f.env(below) != "" {
		return below
	}
	return connection
}

// outputSecrets are the settings of an output that hold secrets, and those that they take them from.
func (f *facts) outputSecrets(p *config.Poller, out *config.Output) (names []string) {
	prefix := "output__"
	if out.Name != "" {
		prefix = "outputs__" + out.Name + "__"
	}
	var keys []string
	if out.Secret != "" {
		keys = append(keys, "secret")
	}
	for _, header := range slices.Sorted(maps.Keys(out.Headers)) {
		keys = append(keys, "headers__"+strings.ToLower(strings.ReplaceAll(header, "-", "_")))
	}
	if out.Kind == "http" && keyInURL(out) != "" {
		keys = append(keys, "url")
	}
	for _, key := range keys {
		name := p.Setting(prefix + key)
		names = append(names, name)
		names = append(names, f.referred(name)...)
	}
	return names
}

var reference = regexp.MustCompile(`%([A-Za-z_][A-Za-z0-9_]*)%`)

// referred are the settings that a value is put together from, by %NAME%.
func (f *facts) referred(name string) (names []string) {
	for _, m := range reference.FindAllStringSubmatch(f.env(name), -1) {
		if f.env(m[1]) != "" {
			names = append(names, m[1])
		}
	}
	return names
}
