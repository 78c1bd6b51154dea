package rules

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"kprobesim/internal/require"
)

// TestKubernetes reads the manifest of docs, and holds the keys by which it is an indexed job whose tasks are shards.
func TestKubernetes(t *testing.T) {
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct {
			CompletionMode           string `yaml:"completionMode"`
			Completions, Parallelism int
			BackoffLimit             int `yaml:"backoffLimit"`
			Template                 struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct {
						Name, Image   string
						WorkingDir    string `yaml:"workingDir"`
						Command, Args []string
						Resources     map[string]map[string]string
						VolumeMounts  []map[string]string `yaml:"volumeMounts"`
					}
					Volumes []map[string]any
				}
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(read(t, "docs/kubernetes.yaml")))
	d.KnownFields(true)
	require.NoError(t, d.Decode(&job))
	s := job.Spec
	require.Need(t, job.APIVersion == "batch/v1" && job.Kind == "Job" && s.CompletionMode == "Indexed" && s.Completions == 40 && s.Parallelism >= 1 && len(s.Template.Spec.Containers) == 1, "%+v", job)
	c := s.Template.Spec.Containers[0]
	require.That(t, len(c.Args) == 1 && c.Args[0] == "exec ./kprobesim run sweep.toml --out out --workers 1 --shard $((JOB_COMPLETION_INDEX + 1))/40", "%+v", c)
}
