package rules

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// rooms says which rooms of this module each room may import, besides itself
// and internal packages. A package belongs to the longest room that its path
// begins with. DESIGN.md explains the order.
var rooms = map[string][]string{
	"mmu":       {},
	"cpus":      {"mmu"},
	"image":     {},
	"sim":       {"cpus", "mmu", "image"},
	"smp":       {"sim", "cpus", "mmu", "image"},
	"kprobes":   {"smp", "sim", "cpus", "mmu", "image"},
	"workloads": {},
	"results":   {},

	"results/tables":      {"results"},
	"results/formats":     {"results", "results/outdir"},
	"results/figures":     {"results", "results/tables"},
	"results/compare":     {"results", "results/formats", "results/outdir"},
	"results/history":     {"results", "results/compare", "results/figures", "results/tables"},
	"results/outdir":      {},
	"results/measured":    {"results"},
	"results/timeline":    {},
	"results/resultstest": {"results"},

	"boards/pc":       {"sim", "cpus", "mmu", "image"},
	"boards/pseries":  {"sim", "cpus", "mmu", "image"},
	"boards/vexpress": {"sim", "cpus", "mmu", "image"},
	"kprobes/x86":     {"kprobes"},
	"kprobes/ppc64":   {"kprobes"},
	"kprobes/arm":     {"kprobes"},

	"modules":  {"smp", "sim", "image", "kprobes"},
	"machines": {"mmu", "cpus"},
	"judging":  {"mmu", "cpus"},

	"judging/describing": {"judging", "cpus", "machines"},
	"distro":             {"mmu", "cpus", "image", "sim"},

	"distro/probing":   {"cpus", "image", "kprobes", "kprobes/arm", "kprobes/x86"},
	"distro/phases":    {"cpus", "image"},
	"distro/rootfs":    {"distro"},
	"distro/attaching": {},
	"distro/measuring": {"distro", "distro/rootfs", "distro/attaching", "cpus", "image", "sim"},
	"distro/costing":   {"distro", "distro/attaching", "distro/measuring", "distro/phases", "distro/probing", "cpus", "image", "sim"},
	"targets":          {"cpus", "image", "sim", "boards/pc", "boards/pseries", "boards/vexpress", "smp", "kprobes", "kprobes/x86", "kprobes/ppc64", "kprobes/arm", "workloads"},
	"races":            {"mmu", "cpus", "image", "sim", "smp", "kprobes", "workloads", "targets", "results/timeline"},
	"gdb":              {"gdb/protocol", "cpus", "image", "sim"},
	"gdb/protocol":     {},
	"paper":            {"results", "results/formats", "results/outdir", "results/tables", "experiments/schema", "experiments/reports"},
	"internal":         {},

	"experiments":        {},
	"experiments/schema": {"distro/attaching", "cpus", "image", "sim", "smp", "kprobes", "modules", "workloads", "targets", "machines", "results", "results/formats", "results/outdir"},
	"experiments/kinds": {
		"cpus", "image", "sim", "smp", "kprobes", "modules", "workloads", "targets", "results", "experiments/schema",
		"boards/pc", "boards/vexpress", "distro", "distro/attaching", "distro/measuring", "distro/phases", "distro/probing",
	},
	"experiments/planning":    {"distro", "distro/rootfs", "distro/attaching", "cpus", "image", "kprobes", "modules", "workloads", "targets", "machines", "results", "results/formats", "results/outdir", "experiments", "experiments/schema"},
	"experiments/running":     {"results", "results/outdir", "experiments/schema", "experiments/kinds"},
	"experiments/keeping":     {"results", "results/outdir", "experiments/schema", "experiments/kinds", "experiments/running"},
	"experiments/timelines":   {"cpus", "image", "sim", "smp", "kprobes", "results", "results/timeline", "experiments/schema", "experiments/kinds"},
	"experiments/reports":     {"distro/attaching", "machines", "results", "results/compare", "results/figures", "results/formats", "results/outdir", "results/tables", "experiments", "experiments/schema", "experiments/kinds", "experiments/running"},
	"experiments/whatif":      {"distro/attaching", "distro/probing", "kprobes"},
	"experiments/webpage":     {"results", "results/compare", "results/formats", "results/outdir", "results/tables", "experiments/reports"},
	"experiments/calibration": {"machines", "results", "results/measured", "experiments/schema", "experiments/planning", "experiments/running", "experiments/reports"},
	"experiments/sensitivity": {"machines", "results", "results/figures", "results/formats", "results/outdir", "results/tables", "experiments/schema", "experiments/kinds", "experiments/planning", "experiments/running", "experiments/reports"},
	"experiments/explaining":  {"cpus", "image", "sim", "smp", "kprobes", "workloads", "targets", "machines", "experiments", "experiments/schema", "experiments/kinds", "experiments/planning", "distro/costing"},
	"experiments/exptest":     {"cpus", "image", "kprobes", "workloads", "targets", "experiments/schema", "experiments/kinds", "experiments/planning"},

	"cmd": {
		"experiments", "experiments/schema", "experiments/kinds", "experiments/planning", "experiments/running",
		"experiments/keeping", "experiments/explaining", "experiments/timelines", "experiments/reports", "experiments/webpage", "experiments/calibration", "experiments/sensitivity", "experiments/whatif", "results", "results/compare", "results/figures", "results/formats", "results/history", "results/measured", "results/outdir", "results/tables", "races", "workloads", "gdb",
		"paper", "distro", "distro/attaching", "distro/probing", "distro/costing", "cpus", "image", "sim", "boards/pc", "boards/vexpress", "machines", "judging", "judging/describing",
	},
}

// simulation names the rooms whose code must give the same bytes on any host.
var simulation = []string{"mmu", "cpus", "image", "sim", "boards/pc", "boards/pseries", "boards/vexpress", "smp", "kprobes", "kprobes/x86", "kprobes/ppc64", "kprobes/arm", "modules", "distro", "distro/probing", "distro/measuring", "distro/phases", "distro/rootfs", "distro/costing", "distro/attaching"}

// unsteady names the packages that simulation rooms must not import outside
// tests: the clock of the host, its files and processes, unseeded chance, and
// what only goroutines need.
var unsteady = []string{
	"math/rand", "net", "os", "os/exec", "os/signal", "runtime", "sync", "sync/atomic", "syscall", "time",
}

// libraries says which rooms may import which libraries, by the start of their
// path. What is not here may be imported by no room.
var libraries = map[string][]string{
	"github.com/cilium/ebpf":           {"distro/attaching"},
	"golang.org/x/arch/":               {"cpus", "kprobes/x86", "judging", "internal"},
	"github.com/duckdb/duckdb-go/v2":   {"internal"},
	"github.com/klauspost/compress/":   {"image", "distro", "distro/rootfs", "results/formats"},
	"github.com/pierrec/lz4/":          {"image"},
	"github.com/anchore/go-lzo":        {"image"},
	"github.com/parquet-go/parquet-go": {"results/formats"},
	"github.com/xi2/xz":                {"image", "distro/rootfs"},
	"golang.org/x/text/":               {"results/tables", "results/figures"},
	"github.com/google/pprof/":         {"sim", "experiments/reports", "experiments/kinds"},
	"github.com/pelletier/go-toml/v2":  {"internal", "paper"},
	"github.com/spf13/":                {"cmd"},
	"gonum.org/v1/gonum/":              {"experiments/calibration", "results/history"},
	"go.yaml.in/yaml/v3":               {"internal"},
	"google.golang.org/protobuf/":      {"results/timeline"},
	"gonum.org/v1/plot":                {"results/figures"},
}

// room returns the room of a path below the module: the longest one that the path begins with, or its first
// element where there is none.
func room(p string) string {
	for at := p; at != "." && at != "/"; at = path.Dir(at) {
		if _, ok := rooms[at]; ok {
			return at
		}
	}
	return house(p)
}

// house returns the first element of a path below the module, whose rooms belong together.
func house(p string) string {
	first, _, _ := strings.Cut(p, "/")
	return first
}

// TestImportsStayInTheirRooms holds every package's imports against the table.
// Tests may also use the guest images, the targets and boards to run them on, the other rooms of their house, and what is
// below those.
func TestImportsStayInTheirRooms(t *testing.T) {
	for _, s := range sources(t) {
		from := room(s.dir())
		allowed, known := rooms[from]
		if !known && from != "." {
			t.Errorf("%s: %q is a room that the table of imports does not know", s.name, from)
			continue
		}
		for _, p := range s.imports() {
			to, inside := strings.CutPrefix(p, module+"/")
			if !inside {
				continue
			}
			to = room(to)
			ok := to == from || to == "internal" || slices.Contains(allowed, to) ||
				s.test() && (to == "workloads" || to == "targets" || house(to) == "boards" || inHouse(house(from), to))
			require.That(t, ok, "%s: imports %s, but %s may import only %v and internal packages", s.name, p, from, allowed)
		}
	}
}

// inHouse reports whether a room is one of a house, or below one of them.
func inHouse(name, to string) bool {
	for from := range rooms {
		if house(from) == name && (house(to) == name || below(from, to)) {
			return true
		}
	}
	return false
}

// below reports whether a room is imported by another one, directly or by way of others.
func below(from, to string) bool {
	return slices.ContainsFunc(rooms[from], func(r string) bool { return r == to || below(r, to) })
}

// TestResultsKnowNothingOfTheSimulator keeps results usable without it.
func TestResultsKnowNothingOfTheSimulator(t *testing.T) {
	for _, s := range sources(t) {
		require.That(t, house(s.dir()) != "results" || !slices.Contains(s.imports(), module+"/internal/clock"), "%s: results must not know the simulator's clock", s.name)
	}
}

// isJudge reports whether a library gives tests a second opinion, on code, timelines or files.
func isJudge(p string) bool {
	judges := []string{"golang.org/x/arch/", "google.golang.org/protobuf/", "github.com/santhosh-tekuri/jsonschema/", "github.com/pelletier/go-toml/"}
	return slices.ContainsFunc(judges, func(j string) bool { return strings.HasPrefix(p, j) })
}

// TestLibrariesStayWhereTheyAreUsed keeps each library behind one room. Tests of any room may disassemble
// and decode.
func TestLibrariesStayWhereTheyAreUsed(t *testing.T) {
	for _, s := range sources(t) {
		from := room(s.dir())
		for _, p := range s.imports() {
			first := room(p)
			if !strings.Contains(first, ".") {
				continue // standard library or this module
			}
			judge := s.test() && isJudge(p)
			require.That(t, judge || slices.Contains(libraryRooms(p), from), "%s: imports %s, which the table of libraries does not allow in %s", s.name, p, from)
		}
	}
}

// libraryRooms returns the rooms that may import p.
func libraryRooms(p string) []string {
	for prefix, where := range libraries {
		if strings.HasPrefix(p, prefix) {
			return where
		}
	}
	return nil
}

// TestSimulationIsSteady keeps the host out of the packages that simulate.
func TestSimulationIsSteady(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || !slices.Contains(simulation, room(s.dir())) {
			continue
		}
		for _, p := range s.imports() {
			require.That(t, !slices.Contains(unsteady, p), "%s: imports %s: a simulation must not see the host", s.name, p)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s:%d: starts a goroutine: use iter.Pull for a coroutine", s.name, s.line(g.Pos()))
			}
			return true
		})
	}
}
