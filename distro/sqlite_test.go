package distro_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// sqliteCommands insert, select and compute with floating point.
const sqliteCommands = `create table t(a integer primary key, b real, c text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
insert into t select i, i * 1.1, printf('%08x', i * 2654435761 % 4294967296) from n;
create index u on t(c);
select count(*), sum(a), printf('%.10g', sum(b)), max(c) from t;
select a, b, c from t where c between '80' and '83' order by c;
select 1 / 3.0, 2.5e-300 * 3, printf('%.12g %e', 1e300 / 7, 123456.789), round(2.675, 2);
select 'end';
`

// library finds the files that the loader of the host gives a program.
var library = regexp.MustCompile(`/\S+`)

// TestSqlite boots a packaged kernel with the host's sqlite3 and its libraries, and compares what it prints with its output
// on the host. The loader of glibc wants a processor with MMX.
func TestSqlite(t *testing.T) {
	path := hosttools.Need(t, "sqlite3", "sqlite3", "a program with shared libraries under a packaged kernel")
	box := hosttools.Need(t, "busybox", "busybox-static", "a program with shared libraries under a packaged kernel")
	host := exec.Command(path, ":memory:")
	host.Stdin = strings.NewReader(sqliteCommands)
	want := require.Must(host.Output())(t)
	files := []distro.File{
		{Name: "bin", Mode: distro.ModeFolder},
		{Name: "bin/busybox", Mode: distro.ModeProgram, Data: require.Must(os.ReadFile(box))(t)},
		{Name: "bin/sqlite3", Mode: distro.ModeProgram, Data: require.Must(os.ReadFile(path))(t)},
		{Name: "commands", Mode: distro.ModeProgram, Data: []byte(sqliteCommands)},
		{Name: "init", Mode: distro.ModeProgram, Data: []byte("#!/bin/busybox sh\necho begin\n/bin/sqlite3 :memory: < /commands\n/bin/busybox poweroff -f\n")},
	}
	files = append(files, librariesOf(t, path)...)
	for _, file := range kernels(t) {
		c := packaged(t, file)
		if c.Kernel.Image.Bits != 64 {
			continue
		}
		c.Untimed = true
		c.Initrd = distro.Initrd(files)
		c.CPU.Answers = cpus.Answers{"cpuid": {1: {0x10676, 1<<16 | 8<<8, 1 << 13, 0x789ab7d}}}
		m, err := distro.Run(c, distro.Stop{})
		require.Need(t, err == nil, "%v; the console:\n%s", err, m.Console())
		_, got, _ := strings.Cut(strings.ReplaceAll(m.Console(), "\r\n", "\n"), "begin\n")
		require.That(t, strings.HasPrefix(got, string(want)) && bytes.HasSuffix(want, []byte("end\n")), "%s: the host prints\n%s, the simulator\n%s", file, want, got)
	}
}

// librariesOf are the shared libraries of a program and the loader, at their places, with the folders above them.
func librariesOf(t *testing.T, program string) (files []distro.File) {
	t.Helper()
	folders := map[string]bool{}
	for _, name := range library.FindAllString(string(require.Must(exec.Command("ldd", program).Output())(t)), -1) {
		parts := strings.Split(name[1:], "/")
		for i := range parts[1:] {
			if at := strings.Join(parts[:i+1], "/"); !folders[at] {
				folders[at] = true
				files = append(files, distro.File{Name: at, Mode: distro.ModeFolder})
			}
		}
		files = append(files, distro.File{Name: name[1:], Mode: distro.ModeProgram, Data: require.Must(os.ReadFile(name))(t)})
	}
	return files
}
