// Package check holds the manifests to the types of Kubernetes: a module of its own, so that
// programs that import plankton do not have them in their module graph.
package check

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// decode reads the objects of all manifests; a field or kind that Kubernetes does not know,
// and one that is given twice, is an error.
func decode(t *testing.T) (objects []runtime.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	files, err := filepath.Glob("../*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			object, _, err := strict.Decode(doc, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			objects = append(objects, object)
		}
	}
	return objects
}

// one returns the only object of a kind.
func one[T any](t *testing.T, objects []runtime.Object) *T {
	t.Helper()
	var found *T
	for _, o := range objects {
		if x, ok := o.(interface{}).(*T); ok {
			if found != nil {
				t.Fatalf("two objects of type %T", x)
			}
			found = x
		}
	}
	if found == nil {
		t.Fatalf("no object of type %T", found)
	}
	return found
}

// TestManifestsFitTogether checks that what one object names of another is there.
func TestManifestsFitTogether(t *testing.T) {
	all := decode(t)
	service, workers := one[corev1.Service](t, all), one[appsv1.Deployment](t, all)
	scaler, budget, trainer := one[autoscalingv2.HorizontalPodAutoscaler](t, all), one[policyv1.PodDisruptionBudget](t, all), one[batchv1.Job](t, all)
	pod := workers.Spec.Template
	worker := pod.Spec.Containers[0]

	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Error("the service has an address of its own: the training program would see one worker")
	}
	for name, s := range map[string]*metav1.LabelSelector{
		"service": {MatchLabels: service.Spec.Selector}, "deployment": workers.Spec.Selector, "disruption budget": budget.Spec.Selector,
	} {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) || selector.Matches(labels.Set(trainer.Spec.Template.Labels)) {
			t.Errorf("the %s selects other pods than the workers: %v %v", name, selector, err)
		}
	}
	port := worker.Ports[0]
	if p := service.Spec.Ports[0]; p.TargetPort.String() != port.Name || p.Port != port.ContainerPort {
		t.Errorf("the service leads to port %v, the worker listens on %v", p, port)
	}
	if p := worker.ReadinessProbe.HTTPGet; p.Path != "/healthz" || p.Port.String() != port.Name || p.Scheme != corev1.URISchemeHTTPS {
		t.Errorf("readiness is asked of %v", p)
	}
	if target := scaler.Spec.ScaleTargetRef; target.Name != workers.Name || target.Kind != workers.Kind || target.APIVersion != workers.APIVersion {
		t.Errorf("the autoscaler scales %v", target)
	}
	if workers.Spec.Replicas != nil {
		t.Error("the deployment has a number of replicas, which would undo the autoscaler's")
	}
	if m := scaler.Spec.Metrics[0]; m.Type != autoscalingv2.PodsMetricSourceType || m.Pods.Target.AverageValue.IsZero() {
		t.Errorf("the metric is %v", m)
	}
	if trainer.Spec.Template.Spec.Containers[0].Image != worker.Image {
		t.Error("trainer and workers are of different images")
	}
	for _, spec := range []corev1.PodSpec{pod.Spec, trainer.Spec.Template.Spec} {
		volumes := map[string]bool{}
		for _, v := range spec.Volumes {
			volumes[v.Name] = true
		}
		for _, m := range spec.Containers[0].VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("there is no volume %q", m.Name)
			}
		}
	}
}
