package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs/internal/config"
)

// BenchmarkLoad reads a file that uses every key.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(everything), 0o600); err != nil {
		b.Fatal(err)
	}
	opt := config.Options{ConfigDir: dir, Managed: filepath.Join(dir, "none")}
	for b.Loop() {
		if _, err := config.Load(opt); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadNothing is the cost of looking for files that are not there.
func BenchmarkLoadNothing(b *testing.B) {
	dir := b.TempDir()
	opt := config.Options{ConfigDir: dir, Workspace: dir, Managed: filepath.Join(dir, "none")}
	for b.Loop() {
		if _, err := config.Load(opt); err != nil {
			b.Fatal(err)
		}
	}
}
