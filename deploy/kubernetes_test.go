package deploy_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// Kubernetes' own schemas know no objects of the Prometheus operator and of KEDA; the types below hold what their
// manifests use, and decode refuses what they do not know.
var foreign = []string{"servicemonitor.yaml", "outbox-scaling.yaml"}

type meta struct {
	Name, Namespace string
	Labels          map[string]string
}

type serviceMonitor struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   meta
	Spec       struct {
		Selector  selector
		Endpoints []struct {
			Port, Path, Interval string
			Authorization        struct {
				Type        string
				Credentials struct{ Name, Key string }
			}
		}
	}
}

type scaledObject struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   meta
	Spec       struct {
		ScaleTargetRef  struct{ Name string } `yaml:"scaleTargetRef"`
		MinReplicaCount int                   `yaml:"minReplicaCount"`
		MaxReplicaCount int                   `yaml:"maxReplicaCount"`
		PollingInterval int                   `yaml:"pollingInterval"`
		CooldownPeriod  int                   `yaml:"cooldownPeriod"`
		Fallback        struct {
			FailureThreshold int `yaml:"failureThreshold"`
			Replicas         int
			Behavior         string
		}
		Triggers []struct {
			Type       string
			MetricType string `yaml:"metricType"`
			Metadata   struct {
				ServerAddress    string `yaml:"serverAddress"`
				Query            string
				Threshold        string
				IgnoreNullValues string `yaml:"ignoreNullValues"`
			}
		}
	}
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// manifest is what the tests look at of any object.
type manifest struct {
	Kind       string
	Metadata   meta
	Data       map[string]string
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		Replicas     int
		MinAvailable int `yaml:"minAvailable"`
		Selector     map[string]any
		Template     struct {
			Metadata meta
			Spec     struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					EnvFrom []struct {
						ConfigMapRef struct{ Name string } `yaml:"configMapRef"`
						SecretRef    struct{ Name string } `yaml:"secretRef"`
					} `yaml:"envFrom"`
					Ports []struct {
						Name          string
						ContainerPort string `yaml:"containerPort"`
					}
					StartupProbe   probe `yaml:"startupProbe"`
					LivenessProbe  probe `yaml:"livenessProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	found := map[string]manifest{}
	for _, path := range glob(t, "kubernetes/*.yaml", 7) {
		text := testfile.Read(t, path)
		for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var m manifest
			if decoder.Decode(&m) != nil {
				break // the end; TestManifestsMatchTheirSchemas reads the files strictly
			}
			found[m.Kind] = m
		}
	}
	return found
}

func TestManifestsMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	var own []string
	for _, path := range glob(t, "kubernetes/*.yaml", 7) {
		if name := filepath.Base(path); name != "kustomization.yaml" && !slices.Contains(foreign, name) {
			own = append(own, path)
		}
	}
	for _, version := range []string{"1.30", "1.37"} {
		if out, err := inDir(".", nil, checker(t, "kubernetes-validate"),
			append([]string{"--strict", "-k", version}, own...)...); err != nil {
			t.Errorf("Kubernetes %s: %v\n%s", version, err, out)
		}
	}
	broken := filepath.Join(t.TempDir(), "broken.yaml") // the checker is worth what it finds
	text := testfile.Read(t, "kubernetes/deployment.yaml")
	if err := os.WriteFile(broken, bytes.Replace(text, []byte("\n  replicas:"), []byte("\n  replica:"), 1),
		0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := inDir(".", nil, checker(t, "kubernetes-validate"), "--strict", broken); err == nil {
		t.Errorf("kubernetes-validate finds nothing wrong with replica: %s", out)
	}
}

func TestManifestsFitEachOther(t *testing.T) {
	all := manifests(t)
	labels := all["Deployment"].Spec.Template.Metadata.Labels
	container := all["Deployment"].Spec.Template.Spec.Containers[0]
	var monitor serviceMonitor
	decode(t, "kubernetes/servicemonitor.yaml", &monitor)
	var scaled scaledObject
	decode(t, "kubernetes/outbox-scaling.yaml", &scaled)

	for kind, m := range all {
		if kind != "Kustomization" && kind != "Namespace" && m.Metadata.Namespace != all["Namespace"].Metadata.Name {
			t.Errorf("%s lies in the namespace %q", kind, m.Metadata.Namespace)
		}
	}
	if !maps.Equal(labels, monitor.Spec.Selector.MatchLabels) || !maps.Equal(labels, all["Service"].Metadata.Labels) {
		t.Error("the ServiceMonitor does not find the Service")
	}
	for key, value := range all["Service"].Spec.Selector {
		if labels[key] != value {
			t.Errorf("the Service selects %s=%v, which pods do not have", key, value)
		}
	}
	if token := monitor.Spec.Endpoints[0].Authorization.Credentials; all["Secret"].StringData[token.Key] == "" ||
		token.Name != all["Secret"].Metadata.Name {
		t.Errorf("the ServiceMonitor takes the token from %+v", token)
	}
	if scaled.Spec.ScaleTargetRef.Name != all["Deployment"].Metadata.Name || scaled.Spec.MinReplicaCount < 2 {
		t.Errorf("KEDA scales %+v", scaled.Spec)
	}
	if all["Deployment"].Spec.Replicas != 2 || all["PodDisruptionBudget"].Spec.MinAvailable >= 2 {
		t.Error("two replicas are wanted, and one may be missing")
	}
	if refs := container.EnvFrom; refs[0].ConfigMapRef.Name != all["ConfigMap"].Metadata.Name ||
		refs[1].SecretRef.Name != all["Secret"].Metadata.Name {
		t.Errorf("the settings come from %+v", refs)
	}
}

// settings are what the container gets: the ConfigMap and the example's Secret, with secrets in the place of the
// example's.
func settings(t *testing.T) map[string]string {
	given := exampleSettings(t)
	given["status__token"] = "planted in the test"
	given["pollers__orders__output__secret"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	return given
}

func exampleSettings(t *testing.T) map[string]string {
	all := manifests(t)
	given := maps.Clone(all["ConfigMap"].Data)
	maps.Copy(given, all["Secret"].StringData)
	return given
}

// TestTheSecretsOfTheExampleAreRefused: whoever applies it unchanged must not serve under a token, nor sign with a
// secret, that everybody can read here.
func TestTheSecretsOfTheExampleAreRefused(t *testing.T) {
	for _, name := range []string{"status__token", "pollers__orders__output__secret"} {
		given := settings(t)
		given[name] = exampleSettings(t)[name]
		var environ []string
		for name, value := range given {
			environ = append(environ, name+"="+value)
		}
		if _, err := config.Load(environ); err == nil || !strings.HasPrefix(err.Error(), name+": ") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("the settings of the manifests, with the %s of the example: %v", name, err)
		}
	}
}

func TestSettingsOfTheManifestsAreAccepted(t *testing.T) {
	given := settings(t)
	cfg := accepted(t, given)
	if p := cfg.Poller("orders"); p == nil || cfg.State.Kind != "blob" {
		t.Errorf("the settings make %+v", cfg.State)
	}
	_, port, err := net.SplitHostPort(given["status__listen"])
	if container := manifests(t)["Deployment"].Spec.Template.Spec.Containers[0]; err != nil ||
		container.Ports[0].ContainerPort != port {
		t.Errorf("status__listen is %s, and the container's port %s", given["status__listen"],
			container.Ports[0].ContainerPort)
	}
}

// TestProbesOfTheManifestsAreAnswered asks the program what Kubernetes would ask it: without a token, which Kubernetes
// has not.
func TestProbesOfTheManifestsAreAnswered(t *testing.T) {
	t.Parallel()
	a := newApplication(t)
	a.poller(t, "orders", newReceiver(t).URL+"/ok")
	a.settings["status__token"] = settings(t)["status__token"]
	running := a.start(t, nil)
	container := manifests(t)["Deployment"].Spec.Template.Spec.Containers[0]
	for name, p := range map[string]probe{"startup": container.StartupProbe, "liveness": container.LivenessProbe,
		"readiness": container.ReadinessProbe} {
		if p.HTTPGet.Path == "" || p.HTTPGet.Port != container.Ports[0].Name {
			t.Fatalf("the %s probe asks %+v", name, p.HTTPGet)
		}
		running.Until("the "+name+" probe is answered", func() bool {
			answer, err := http.Get("http://" + a.listen + p.HTTPGet.Path)
			if err != nil {
				return false
			}
			_ = answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		})
	}
}

// TestTheNetworkPolicyLetsOut: to Azure SQL by its redirects too, without which nothing connects from AKS; and what is
// offered as a comment is right when the comment is taken off.
func TestTheNetworkPolicyLetsOut(t *testing.T) {
	text := testfile.Read(t, "kubernetes/network.yaml")
	offered := filepath.Join(t.TempDir(), "network.yaml")
	testfile.Write(t, offered, bytes.ReplaceAll(text, []byte("# - {"), []byte("- {")))
	if out, err := inDir(".", nil, checker(t, "kubernetes-validate"), "--strict", offered); err != nil {
		t.Errorf("with all that is offered: %v\n%s", err, out)
	}
	given := []int{80, 443, 1433, 11000, 11500, 11999}
	more := []int{5432, 3306, 5671, 5672, 9092, 9093, 9094, 4317, 4318}
	for _, port := range given {
		if !letsOut(t, "kubernetes/network.yaml", port) {
			t.Errorf("port %d is closed", port)
		}
	}
	for _, port := range more {
		if letsOut(t, "kubernetes/network.yaml", port) || !letsOut(t, offered, port) {
			t.Errorf("port %d is not what is offered", port)
		}
	}
}

// letsOut reports whether the policy of a file lets TCP out to everywhere at a port.
func letsOut(t *testing.T, path string, port int) bool {
	t.Helper()
	text := testfile.Read(t, path)
	var policy struct {
		Spec struct {
			Egress []struct {
				To    []any
				Ports []struct {
					Protocol string
					Port     int
					EndPort  int `yaml:"endPort"`
				}
			}
		}
	}
	_, second, found := strings.Cut(string(text), "\n---\n")
	if err := yaml.Unmarshal([]byte(second), &policy); err != nil || !found {
		t.Fatalf("%s: %v", path, err)
	}
	for _, e := range policy.Spec.Egress {
		for _, p := range e.Ports {
			if e.To == nil && p.Protocol == "TCP" && p.Port <= port && port <= max(p.Port, p.EndPort) {
				return true
			}
		}
	}
	return false
}

// TestScalingAsksForAMetricThatExists: KEDA would keep the number of replicas for ever otherwise, and say nothing.
func TestScalingAsksForAMetricThatExists(t *testing.T) {
	var scaled scaledObject
	decode(t, "kubernetes/outbox-scaling.yaml", &scaled)
	promql := scaled.Spec.Triggers[0].Metadata.Query
	rules, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "scaling",
		"rules": []any{map[string]string{"record": "scaling", "expr": promql}}}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, rules, 0o600); err != nil { // YAML takes JSON
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool(t), "check", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("the query is no PromQL: %v\n%s", err, out)
	}
	metric := regexp.MustCompile(`rowrelay_[a-z_]+`).FindString(promql)
	documented := testfile.Read(t, "../docs/observability.md")
	if metric == "" || !strings.Contains(string(documented), "`"+metric+"`") {
		t.Errorf("%s asks for the metric %q, which docs/observability.md does not have", promql, metric)
	}
}
