package production

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/inspect"
)

func judgeSecrets(f *inspect.App) Answer {
	var names, local []string
	for _, name := range secretSettings(f) {
		if slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		for written := range f.InFile {
			if strings.EqualFold(written, name) {
				local = append(local, name)
			}
		}
	}
	switch {
	case len(names) == 0:
		return good("no setting holds a secret")
	case len(local) > 0:
		mend := "let <name>_FILE name a file that holds each, or set it in the environment"
		if f.Hosted() {
			mend = "put them into the app's settings, as references to a Key Vault, and leave the file to development"
		}
		return bad(mend,
			"%s holds %s", f.File, list(local))
	}
	return unknown("", "these hold secrets, as far as the app sees: %s", list(names))
}

// secretSettings are the settings with a secret in them, some more than once.
func secretSettings(f *inspect.App) (names []string) {
	for _, l := range f.Links() {
		if l.Secret {
			names = append(names, holder(f, l.Setting))
		}
	}
	if hostKey(f) {
		names = append(names, azure.HostStorage)
	}
	for _, p := range f.Pollers {
		for i := range p.Config.Outputs {
			names = append(names, outputSecrets(f, p.Config, &p.Config.Outputs[i])...)
		}
	}
	if f.Config.Status.Token != "" {
		names = append(names, "status__token")
		names = append(names, referred(f, "status__token")...)
	}
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		if name := "OTEL_EXPORTER_OTLP_" + signal + "HEADERS"; f.Env(name) != "" {
			names = append(names, name)
		}
		if name := "OTEL_EXPORTER_OTLP_" + signal + "ENDPOINT"; secretInURL(f.Env(name)) != "" {
			names = append(names, name)
		}
	}
	return names
}

// hostKey reports whether the host logs in to its own storage account with a key, or a signature.
func hostKey(f *inspect.App) bool { return f.Hosted() && f.HostAccount.Key }

// holder is the setting that holds the secret of a connection: with the secret of a service principal it is one below
// the connection's name.
func holder(f *inspect.App, connection string) string {
	if below := connection + "__clientSecret"; f.Env(connection) == "" && f.Env(below) != "" {
		return below
	}
	return connection
}

// outputSecrets are the settings of an output that hold secrets, and those that they take them from.
func outputSecrets(f *inspect.App, p *config.Poller, out *config.Output) (names []string) {
	prefix := "output__"
	if out.Name != "" {
		prefix = "outputs__" + out.Name + "__"
	}
	var keys []string
	if out.Secret != "" {
		keys = append(keys, "secret")
	}
	if out.AuthClientSecret != "" {
		keys = append(keys, "auth_client_secret")
	}
	if out.ClientCertificate != "" {
		keys = append(keys, "client_certificate")
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
		names = append(names, referred(f, name)...)
	}
	return names
}

var reference = regexp.MustCompile(`%([A-Za-z_][A-Za-z0-9_]*)%`)

// referred are the settings that a value is put together from, by %NAME%.
func referred(f *inspect.App, name string) (names []string) {
	for _, m := range reference.FindAllStringSubmatch(f.Env(name), -1) {
		if f.Env(m[1]) != "" {
			names = append(names, m[1])
		}
	}
	return names
}

// keyInURL names the part of an output's URL that looks like a secret.
func keyInURL(out *config.Output) string { return secretInURL(out.URL.Reveal()) }

// secretInURL: a user without a password is a token, as in https://TOKEN@host/.
func secretInURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	if _, has := u.User.Password(); has {
		return "user:password@"
	}
	if u.User.Username() != "" {
		return "user@"
	}
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if namesSecret(name) {
			return name + "="
		}
	}
	return ""
}

// namesSecret reports whether a parameter of a URL is called as secrets are. Not every key is one: partition_key is
// not.
func namesSecret(parameter string) bool {
	name := strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(parameter))
	switch name {
	case "code", "key", "sig", "auth", "authorization", "password", "passwd", "pwd", "credential", "credentials", "jwt",
		"bearer":
		return true
	}
	for _, says := range []string{"apikey", "accesskey", "subscriptionkey", "functionkey", "functionskey", "authkey",
		"sharedkey", "secretkey", "privatekey", "token", "secret", "signature"} {
		if strings.HasSuffix(name, says) {
			return true
		}
	}
	return false
}
