package planning

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"kprobesim/experiments"
	"kprobesim/internal/doc"
	"kprobesim/internal/require"
)

// compiled is a schema as a validator reads it.
func compiled(t *testing.T, s *doc.Schema) *jsonschema.Schema {
	t.Helper()
	b := require.Must(json.Marshal(s))(t)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", require.Must(jsonschema.UnmarshalJSON(bytes.NewReader(b)))(t)))
	return require.Must(c.Compile("schema.json"))(t)
}

// TestSchemas holds every file of this program to the schema of its kind, then with a mistake, and then values that no reader
// takes, one at a time.
func TestSchemas(t *testing.T) {
	l := NewLoader()
	ofExperiments := l.ExperimentSchema()
	for _, kind := range []struct {
		folder string
		names  []string
		schema *doc.Schema
		bad    []string
	}{
		{".", experiments.Names(), ofExperiments, []string{
			`kind = "none"`, `seed = -1`, `replicates = "2"`, "[kernel]\ncpus = 0", "[kernel]\nera = 2010", "[workload]\nhit = 3", "[[points]]\nmode = \"jump\"",
			"[[points]]\nkind = \"nothing\"", "[[points.with]]\nmode = \"step\"", `figures = "overhead"`, "[linux]\nera = \"2010\"",
		}},
		{"machines", experiments.Machines(), l.MachineSchema(), []string{
			`isa = "mips"`, "[cache.l4]\nways = 2", "[cache.l1d]\nways = 2.5", "[cost.nothing]\nuops = 1", "[event.trap]\ncycles = true", "[sources]\nmanual = 3",
			"[cpuid.0x4]\nefx = 3",
		}},
	} {
		schema := compiled(t, kind.schema)
		for _, name := range kind.names {
			file, b, err := experiments.Read(kind.folder, "file", name, "")
			require.NoError(t, err)
			if err := validate(t, schema, string(b)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			require.Error(t, validate(t, schema, "unknown_key = 1\n"+string(b)), "unknown_key", "%s with an unknown key", file)
		}
		for _, text := range kind.bad {
			require.That(t, validate(t, schema, text) != nil, "the schema takes %q", text)
		}
	}
	once := require.Must(json.Marshal(ofExperiments))(t)
	require.That(t, bytes.Equal(once, require.Must(json.Marshal(NewLoader().ExperimentSchema()))(t)), "two schemas differ")
}

// validate reads TOML as an editor does.
func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var values map[string]any
	require.NoError(t, toml.Unmarshal([]byte(text), &values))
	b := require.Must(json.Marshal(values))(t)
	return s.Validate(require.Must(jsonschema.UnmarshalJSON(bytes.NewReader(b)))(t))
}
