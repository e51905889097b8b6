package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var bare = cmp.Comparer(func(a, b Secret) bool { return a == b })

func TestStorageConnections(t *testing.T) {
	const account = "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=k"
	for _, c := range []struct {
		name    string
		environ []string
		service service
		want    Storage
	}{
		{"AzureWebJobs first", []string{"AzureWebJobsS=" + account, "S=other"}, blobService,
			Storage{Setting: "AzureWebJobsS", ConnectionString: account}},
		{"children of AzureWebJobs before the value of the name",
			[]string{"AzureWebJobsS__serviceUri=https://a.blob.core.windows.net", "S=" + account}, blobService,
			Storage{Setting: "AzureWebJobsS", BlobServiceURI: "https://a.blob.core.windows.net"}},
		{"a value wins over its children", []string{"S=" + account, "S__blobServiceUri=https://x"}, blobService,
			Storage{Setting: "S", ConnectionString: account}},
		{"another case of letters", []string{"s=" + account}, blobService, Storage{Setting: "s", ConnectionString: account}},
		{"the portal's form", []string{"CUSTOMCONNSTR_S=" + account}, blobService,
			Storage{Setting: "CUSTOMCONNSTR_S", ConnectionString: account}},
		{"a SAS", []string{"S=BlobEndpoint=https://a.blob.core.windows.net;SharedAccessSignature=sv=1&sig=x"}, blobService,
			Storage{Setting: "S", ConnectionString: "BlobEndpoint=https://a.blob.core.windows.net;SharedAccessSignature=sv=1&sig=x"}},
		{"Azurite at other ports", []string{"S=AccountName=devstoreaccount1;AccountKey=k;BlobEndpoint=http://127.0.0.1:99/devstoreaccount1"}, blobService,
			Storage{Setting: "S", ConnectionString: "AccountName=devstoreaccount1;AccountKey=k;BlobEndpoint=http://127.0.0.1:99/devstoreaccount1", Development: true}},
		{"Azurite in a compose network", []string{"S=UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite"},
			queueService,
			Storage{Setting: "S", ConnectionString: developmentStorage("http://azurite"), Development: true}},
		{"an identity by client id", []string{"S__queueServiceUri=https://a.queue.core.windows.net/",
			"S__credential=ManagedIdentity", "S__clientId=c"}, queueService,
			Storage{Setting: "S", QueueServiceURI: "https://a.queue.core.windows.net/",
				Identity: Identity{Credential: "managedidentity", ClientID: "c"}}},
		{"an identity by resource id",
			[]string{"S__serviceUri=https://a.queue.core.windows.net", "S__credential=managedidentity",
				"S__managedIdentityResourceId=/r"}, queueService,
			Storage{Setting: "S", QueueServiceURI: "https://a.queue.core.windows.net",
				Identity: Identity{Credential: "managedidentity", ResourceID: "/r"}}},
		{"a service principal", []string{"S__serviceUri=http://127.0.0.1:1/x", "S__tenantId=t", "S__clientId=c",
			"S__clientSecret=p"}, blobService,
			Storage{Setting: "S", BlobServiceURI: "http://127.0.0.1:1/x",
				Identity: Identity{TenantID: "t", ClientID: "c", ClientSecret: "p"}}},
	} {
		var faults Faults
		s := newScope("", nil, &faults)
		got := newEnviron(c.environ).storage(s, "k", "S", c.service)
		if diff := cmp.Diff(c.want, got, bare); diff != "" || len(faults) > 0 {
			t.Errorf("%s: %v %s", c.name, faults, diff)
		}
	}
}

func TestDatabaseConnections(t *testing.T) {
	for _, c := range []struct {
		name    string
		environ []string
		want    Database
	}{
		{"the setting itself", []string{"DB=a", "SQLCONNSTR_DB=b", "DB__server=c"},
			Database{Setting: "DB", ConnectionString: "a"}},
		{"the exact name before another case", []string{"db=b", "DB=a"}, Database{Setting: "DB", ConnectionString: "a"}},
		{"no expansion", []string{"DB=postgres://u:p%40%41@h/d"},
			Database{Setting: "DB", ConnectionString: "postgres://u:p%40%41@h/d"}},
		{"SQL Azure", []string{"SQLAZURECONNSTR_DB=b"}, Database{Setting: "SQLAZURECONNSTR_DB", ConnectionString: "b"}},
		{"SQL Server", []string{"SQLCONNSTR_DB=b"}, Database{Setting: "SQLCONNSTR_DB", ConnectionString: "b"}},
		{"custom", []string{"CUSTOMCONNSTR_DB=b"}, Database{Setting: "CUSTOMCONNSTR_DB", ConnectionString: "b"}},
		{"PostgreSQL", []string{"POSTGRESQLCONNSTR_DB=b"}, Database{Setting: "POSTGRESQLCONNSTR_DB", ConnectionString: "b"}},
		{"MySQL", []string{"MYSQLCONNSTR_DB=b"}, Database{Setting: "MYSQLCONNSTR_DB", ConnectionString: "b"}},
		{"identity", []string{"DB__server=s", "DB__database=d", "DB__credential=managedidentity", "DB__clientId=c"},
			Database{Setting: "DB", Server: "s", Database: "d", Credential: "managedidentity", ClientID: "c"}},
	} {
		var faults Faults
		s := newScope("", nil, &faults)
		got := newEnviron(c.environ).database(s, "k", "DB")
		if diff := cmp.Diff(c.want, got, bare); diff != "" || len(faults) > 0 {
			t.Errorf("%s: %v %s", c.name, faults, diff)
		}
	}
}

func TestEngineOf(t *testing.T) {
	for text, want := range map[string]string{
		"sqlserver://h": "sqlserver", "Server=tcp:h;Password=x": "sqlserver", "Data Source=h": "sqlserver",
		"postgres://h":   "postgres",
		"postgresql://h": "postgres", "mysql://h": "mysql", "u:p@tcp(h)/d": "mysql", "sqlite:a.db": "sqlite", "what": "",
	} {
		if got := engineOf(Database{ConnectionString: Secret(text)}); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := engineOf(Database{Server: "s"}); got != "sqlserver" {
		t.Errorf("identity form: %q", got)
	}
}
