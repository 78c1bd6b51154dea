package kinds

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kprobesim/distro"
	"kprobesim/distro/measuring"
	"kprobesim/experiments/schema"
)

// BuildModule builds a module of this program against the headers of a kernel.
func BuildModule(name, headers string) (b []byte, err error) {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files, err := distro.ModuleFiles(name)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, f.Data, 0o600)); err != nil {
			return nil, err
		}
	}
	out := filepath.Join(dir, name+".ko")
	said, err := exec.Command("sh", filepath.Join(dir, files[0].Name), headers, out, filepath.Join(dir, name+".c")).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("the module %s was not built for %s: %w: %s", name, headers, err, strings.TrimSpace(string(said)))
	}
	return os.ReadFile(out)
}

// emptyModule is the module with the handlers that count (distro/module), for the place of a probe. It is that of the
// experiment, or is built once for all points.
func emptyModule(p *schema.Point, s *site) (measuring.Module, error) {
	file := p.Linux.ModuleFile
	if file == nil {
		made, err := p.Linux.Work.Do("module "+p.Linux.Headers, func() (any, error) { return BuildModule(distro.EmptyModule, p.Linux.Headers) })
		if err != nil {
			return measuring.Module{}, err
		}
		file = made.([]byte)
	}
	return measuring.Module{Name: distro.EmptyModule, File: file, Params: moduleParams(p, s), Hits: "hits"}, nil
}

// moduleParams says to the module what to probe: a place in the kernel by name, one of the program by its file, and data by
// their address.
func moduleParams(p *schema.Point, s *site) string {
	what := p.Probe.Linux.What
	if what == schema.LinuxWatch {
		return fmt.Sprintf("kind=%s symbol=%#x access=%d", what, s.addr, measuring.Write)
	}
	symbol, offset, _ := strings.Cut(s.place, "+")
	if s.user {
		symbol, offset = strings.TrimSuffix(program, ":"), fmt.Sprintf("%#x", s.file)
	}
	params := fmt.Sprintf("kind=%s symbol=%s", what, symbol)
	if offset != "" && offset != "0x0" {
		params += " offset=" + offset
	}
	return params
}

// userModule is a module as orders name it. A kernel names it as its file without the ending.
func userModule(m *schema.UserModule) measuring.Module {
	name := strings.TrimSuffix(filepath.Base(m.Path), ".ko")
	return measuring.Module{Name: name, File: m.File, Params: m.Params, Hits: m.Hits}
}
