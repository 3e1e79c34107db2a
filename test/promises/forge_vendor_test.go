//go:build linux

package promises

import (
	"os"
	"testing"
)

// Go modules as dependencies: vendored, built offline, hashed and approved with the source. A vendored file that changes after that has
// the tool asked about again, with the difference.
func Test001_OpenQuestions_Dependencies(t *testing.T) {
	p := sharedPlace(t)
	p.put(p.tools("vendored-001", "tool.yaml"), "name: vendored-001\ndescription: Uses a module.\nentrypoint: vendored-001\nparameters: []\n")
	p.put(p.tools("vendored-001", "vendored-001.go"), "package main\n\nimport \"example.com/dep/deep\"\n\nfunc main() { println(deep.Word) }\n")
	p.put(p.tools("vendored-001", "go.mod"), "module vendored\n\ngo 1.24\n\nrequire example.com/dep v1.2.3\n")
	p.fails(1, []string{"go mod vendor", "/forge/vendored-001"}, "forge", "build", "vendored-001")

	dep := p.tools("vendored-001", "vendor", "example.com", "dep", "deep", "deep.go")
	p.put(dep, "package deep\n\nconst Word = \"from the module\"\n")
	p.put(p.tools("vendored-001", "vendor", "modules.txt"), "# example.com/dep v1.2.3\n## explicit; go 1.24\nexample.com/dep/deep\n")
	p.ok("forge", "build", "vendored-001")
	p.approve(`(?s)vendored-001\.go.*vendor: example\.com/dep v1\.2\.3: 1 files, sha256 [0-9a-f]{20}`, "forge", "approve", "vendored-001")
	p.says(p.ok("call", "vendored-001"), "from the module")

	p.put(dep, "package deep\n\nconst Word = \"from somebody else\"\n")
	p.fails(3, []string{"APPROVAL_REQUIRED"}, "call", "vendored-001")
	p.confirm(`(?s)example\.com/dep v1\.2\.3 changed and has the same version.*\+const Word = "from somebody else"`, "forge", "approve", "vendored-001").exit()

	must(t, os.Remove(dep))
	must(t, os.Symlink("/etc/passwd", dep))
	p.fails(1, []string{"is a link"}, "call", "vendored-001")
}
