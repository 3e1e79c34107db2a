package network

import "slices"

// Group is the hosts of one package registry, which configuration and questions know by one name.
type Group struct {
	// Name is how configuration names it, About what a person is told of its hosts.
	Name, About string
	// Hosts serve packages. Hosts that only take packages from their authors are not among them.
	Hosts []string
}

var groups = []Group{
	{"npm", "npm's registry", []string{"registry.npmjs.org", "registry.yarnpkg.com"}},
	{"jsr", "JSR's registry of JavaScript packages", []string{"jsr.io", "npm.jsr.io"}},
	{"pypi", "Python's package index", []string{"pypi.org", "files.pythonhosted.org"}},
	{"conda", "Conda's package channels", []string{"conda.anaconda.org", "repo.anaconda.com"}},
	{"go", "Go's module proxy and checksum database", []string{"proxy.golang.org", "sum.golang.org"}},
	{"crates", "Rust's crate registry", []string{"index.crates.io", "static.crates.io"}},
	{"maven", "Maven Central", []string{"repo.maven.apache.org", "repo1.maven.org"}},
	{"gradle", "Gradle's plugins and distributions", []string{"plugins.gradle.org", "plugins-artifacts.gradle.org", "services.gradle.org", "downloads.gradle.org"}},
	{"rubygems", "RubyGems", []string{"rubygems.org", "index.rubygems.org"}},
	{"nuget", "NuGet's registry", []string{"api.nuget.org"}},
	{"hex", "Hex, the registry of Elixir and Erlang", []string{"repo.hex.pm", "builds.hex.pm"}},
	{"packagist", "Packagist, the registry of PHP", []string{"repo.packagist.org", "packagist.org"}},
	{"debian", "Debian's archive", []string{"deb.debian.org", "security.debian.org"}},
	{"ubuntu", "Ubuntu's archive", []string{"archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"}},
	{"alpine", "Alpine's packages", []string{"dl-cdn.alpinelinux.org"}},
}

// Groups are the known registries.
func Groups() []Group { return slices.Clone(groups) }

// FindGroup returns the group of a name.
func FindGroup(name string) (Group, bool) {
	i := slices.IndexFunc(groups, func(g Group) bool { return g.Name == name })
	if i < 0 {
		return Group{}, false
	}
	return groups[i], true
}

// GroupOf returns the group that a host is in, as effects spell it.
func GroupOf(host string) (Group, bool) {
	i := slices.IndexFunc(groups, func(g Group) bool { return slices.Contains(g.Hosts, host) })
	if i < 0 {
		return Group{}, false
	}
	return groups[i], true
}
