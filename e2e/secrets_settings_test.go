package e2e

import (
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestSecretsInBadSettings: what is wrong is said without what must not be said.
func TestSecretsInBadSettings(t *testing.T) {
	t.Parallel()
	const s = "plantedSecret4711"
	const key = "cGxhbnRlZCBhY2NvdW50IGtleSA0NzEx" // base64, as account keys are
	closed := programtest.FreeAddress(t)
	refused := strings.TrimPrefix(closed, "127.0.0.1:")
	cases := map[string]settings{
		"postgres, no such host":       {".SHOP_DB": "postgres://shop:" + s + "@no-such-host.invalid/shop"},
		"postgres, refused":            {".SHOP_DB": "postgres://shop:" + s + "@" + closed + "/shop"},
		"postgres, bad escape":         {".SHOP_DB": "postgres://shop:" + s + "%zz@127.0.0.1/shop"},
		"postgres, slash in password":  {".SHOP_DB": "postgres://shop:x/" + s + "@127.0.0.1/shop"},
		"postgres, hash in password":   {".SHOP_DB": "postgres://shop:x#" + s + "@127.0.0.1/shop"},
		"postgres, question in it":     {".SHOP_DB": "postgres://shop:x?" + s + "@127.0.0.1/shop"},
		"postgres, at sign in it":      {".SHOP_DB": "postgres://shop:x@" + s + "@127.0.0.1:" + refused + "/shop"},
		"postgres, bad parameter":      {".SHOP_DB": "postgres://shop:" + s + "@127.0.0.1/shop?sslmode=perhaps"},
		"postgres, password parameter": {".SHOP_DB": "postgres://127.0.0.1:" + refused + "/shop?user=shop&password=" + s},
		"postgres, certificate": {".SHOP_DB": "postgres://shop:" + s +
			"@127.0.0.1/shop?sslmode=verify-full&sslrootcert=/nowhere"},
		"mysql, refused":           {".SHOP_DB": "mysql://shop:" + s + "@" + closed + "/shop"},
		"mysql, native, refused":   {".SHOP_DB": "shop:" + s + "@tcp(" + closed + ")/shop"},
		"mysql, native, malformed": {".SHOP_DB": "shop:" + s + "@tcp(" + closed + "/shop"},
		"mysql, bad parameter":     {".SHOP_DB": "mysql://shop:" + s + "@" + closed + "/shop?tls=perhaps"},
		"sqlserver, refused":       {".SHOP_DB": "sqlserver://shop:" + s + "@" + closed + "?database=shop"},
		"sqlserver, malformed":     {".SHOP_DB": "sqlserver://shop:x/" + s + "@" + closed + "?database=shop"},
		"ADO, refused": {".SHOP_DB": "Server=tcp:127.0.0.1," + refused +
			";Database=shop;User ID=shop;Password=" + s + ";Encrypt=true"},
		"ADO, no such host": {".SHOP_DB": "Server=tcp:no-such-host.invalid,1433;Database=shop;User ID=shop;Password=" + s},
		"ADO, misspelt": {".SHOP_DB": "Server=tcp:127.0.0.1," + refused +
			";Database=shop;User ID=shop;Pasword=" + s},
		"ADO, semicolon in it": {".SHOP_DB": "Server=tcp:127.0.0.1," + refused +
			";Database=shop;User ID=shop;Password=x;" + s},
		"ADO, open quote": {".SHOP_DB": "Server=tcp:127.0.0.1," + refused +
			";Database=shop;User ID=shop;Password=\"" + s},
		"ADO, bad authentication": {".SHOP_DB": "Server=tcp:127.0.0.1," + refused + ";Database=shop;Authentication=" +
			s + ";Password=" + s},
		"a form nobody knows":  {".SHOP_DB": "oracle:" + s},
		"in place of the name": {"source__connection": "postgres://shop:" + s + "@h/shop"},
		"key vault": {".SHOP_DB": "@Microsoft.KeyVault(SecretUri=https://v.vault.azure.net/secrets/" + s +
			")"},
		"storage, malformed key": {".state__kind": "blob",
			".AzureWebJobsStorage": "AccountName=shop;AccountKey=" + s + "!;EndpointSuffix=core.windows.net"},
		"storage, no account": {".state__kind": "blob", ".AzureWebJobsStorage": "AccountNme=shop;AccountKey=" + s},
		"storage, refused": {".state__kind": "blob",
			".AzureWebJobsStorage": "AccountName=shop;AccountKey=" + key + ";BlobEndpoint=http://" + closed + "/shop"},
		"storage, signature, refused": {".state__kind": "blob",
			".AzureWebJobsStorage": "BlobEndpoint=http://" + closed + "/shop;SharedAccessSignature=sv=2024&sig=" + s},
		"storage, signature, malformed": {".state__kind": "blob",
			".AzureWebJobsStorage": "BlobEndpoint=:// bad;SharedAccessSignature=sig=" + s},
		"storage, signature in a uri": {".state__kind": "blob",
			".AzureWebJobsStorage__blobServiceUri": "https://shop.blob.core.windows.net?sig=" + s},
		"queue, signature, refused": {"output__kind": "queue", "output__url": "", "output__connection": "QUEUES",
			".QUEUES": "QueueEndpoint=http://" + closed + "/shop;SharedAccessSignature=sv=2024&sig=" + s},
		"url, no such host":         {"output__url": "http://shop:" + s + "@no-such-host.invalid/hook?code=" + s},
		"url, refused":              {"output__url": "http://shop:" + s + "@" + closed + "/hook?code=" + s + "#"},
		"url, malformed":            {"output__url": "http://shop:" + s + "@ho st/hook"},
		"url, bad escape":           {"output__url": "http://shop:" + s + "%%zz@127.0.0.1/hook"},
		"url, no scheme":            {"output__url": "shop:" + s + "@127.0.0.1/hook"},
		"url, unknown expansion":    {"output__url": "http://shop:%" + s + "%@127.0.0.1/hook"},
		"signing secret":            {"output__secret": s},
		"signing secret, too short": {"output__secret": "whsec_" + base64.StdEncoding.EncodeToString([]byte(s))},
		"header that breaks":        {"output__headers__X_Key": s + "\n" + s},
		"header that is reserved":   {"output__headers__Host": s},
		"misspelt secret":           {"output__secrt": "whsec_" + s},
		"misspelt token":            {".status__tokn": s},
		"token, on all addresses":   {".status__listen": "0.0.0.0:x", ".status__token": s},
		"twice":                     {".pollers__orders__output__Secret": "whsec_" + s, "output__secret": "whsec_" + s},
	}
	for name, bad := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting for repetitions
			st := sqliteStall(t, "http://"+closed+"/")
			st.add(1, 3)
			set := st.withOwn(bad).with(settings{"pollers__orders__source__timeout": "1s"})
			secrets := planted{"the setting": s, "the account": key}
			for where, text := range everywhere(t, set, "orders", showing("orders")) {
				secrets.assertNone(t, where, text)
				if where == "run --once" && !strings.Contains(text, "orders") && !strings.Contains(text, "__") &&
					!strings.Contains(text, "SHOP_DB") {
					t.Errorf("run names no setting and no poller: %s", text)
				}
			}
			for key, text := range st.stored() {
				secrets.assertNone(t, "stored under "+key, text)
			}
		})
	}
}

// TestSecretsInLocalSettings: a file that cannot be read is not quoted.
func TestSecretsInLocalSettings(t *testing.T) {
	secrets := planted{"the file": "plantedSecret4711"}
	for name, text := range map[string]string{
		"not JSON":       `{"Values":{"SHOP_DB":"postgres://u:plantedSecret4711@h/d"`,
		"stray text":     `plantedSecret4711`,
		"not an object":  `{"Values":"plantedSecret4711"}`,
		"nested":         `{"Values":{"SHOP_DB":{"plantedSecret4711":1}}}`,
		"encrypted":      `{"IsEncrypted":true,"Values":{"SHOP_DB":"plantedSecret4711"}}`,
		"unknown escape": `{"Values":{"SHOP_DB":"plantedSecret4711\q"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			testfile.Write(t, filepath.Join(dir, "local.settings.json"), text)
			for _, args := range [][]string{{"check"}, {"check", "--json"}, {"run", "--once"}, {"state", "show", "orders"}} {
				out, errs, err := command(t, dir, settings{}, args...)
				if err == nil || !strings.Contains(out+errs, "local.settings.json") {
					t.Errorf("%v: %v: %s%s", args, err, out, errs)
				}
				secrets.assertNone(t, strings.Join(args, " "), out+errs)
			}
		})
	}
}
