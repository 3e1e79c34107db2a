package sandbox

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The numbers of system calls are those that the kernel's headers have, on both architectures.
func TestNumbersOfSystemCalls(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(out))
	amd64, arm64 := numbers(t, filepath.Join(dir, "zsysnum_linux_amd64.go")), numbers(t, filepath.Join(dir, "zsysnum_linux_arm64.go"))
	all := slices.Concat(denied, hiddenMemory, shared, forks, signals, schedulerOthers, []sysno{
		sysOpen, sysOpenat, sysOpenat2, sysClone, sysClone3, sysIoctl, sysSocket, sysSocketpair, sysPrlimit, sysSetrlimit, sysPersonality, sysSetaffinity, sysSetpriority, sysIoprioSet,
	})
	for _, m := range modeArguments {
		all = append(all, m.sysno)
	}
	for _, s := range all {
		if got := number64(amd64, s.name); got != s.amd64 {
			t.Errorf("%s is %d on amd64, not %d", s.name, got, s.amd64)
		}
		if got := number64(arm64, s.name); got != s.arm64 {
			t.Errorf("%s is %d on arm64, not %d", s.name, got, s.arm64)
		}
	}
}

func number64(table map[string]int, name string) int {
	if n, ok := table["SYS_"+strings.ToUpper(name)]; ok {
		return n
	}
	return -1
}

func numbers(t *testing.T, file string) map[string]int {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]int{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				table[v.Names[0].Name], _ = strconv.Atoi(lit.Value)
			}
		}
		return true
	})
	return table
}
