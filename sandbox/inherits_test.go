package sandbox

import "testing"

func TestInherits(t *testing.T) {
	inherits := Inherits(PresetOptions{Environ: []string{"CI=1", "LC_TIME=C", "TOOL=x", "MINE=1", "PATH=/bin"}, PassEnv: []string{"MINE"}})
	for name, want := range map[string]bool{
		"CI": true, "LC_TIME": true, "MINE": true, "PATH": true, "HOME": true, "SHLVL": true, "https_proxy": true, "TMPDIR": true,
		"TOOL": false, "i": false, "NODE_ENV": false,
	} {
		if got := inherits(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
