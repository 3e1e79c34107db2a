package wire

import "testing"

// BenchmarkRulesInForce is what noticing a change costs each time.
func BenchmarkRulesInForce(b *testing.B) {
	dir := b.TempDir()
	sys, err := Host{Workspace: b.TempDir(), StateDir: dir + "/state", ConfigDir: dir + "/config", Attended: true}.Open(b.Context(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer sys.Close()
	for b.Loop() {
		sys.book.get()
	}
}
