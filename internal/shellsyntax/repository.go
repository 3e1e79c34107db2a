package shellsyntax

import (
	"net/url"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitdir"
)

// ViewRepository is what is known of the git repository of a directory, or of one above it in the same root. It is for the words of a
// question, so that what cannot be read is left out.
func ViewRepository(files tongs.FileView, dir tongs.Path) (r Repository) {
	for {
		git := dir.Join(".git")
		if head, err := ReadText(files, git.Join("HEAD")); err == nil {
			r.Branch = strings.TrimSuffix(cutPrefix(head, "ref: refs/heads/"), "\n")
			r.readRemotes(files, git)
			return r
		}
		if dir.Rel == "." {
			return r
		}
		dir = dir.Dir()
	}
}

func cutPrefix(s, prefix string) string {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return ""
	}
	return rest
}

// readRemotes reads the remotes of a repository, and which one the branch uses. Where a setting may make another address of one, its host
// is not sure.
func (r *Repository) readRemotes(files tongs.FileView, git tongs.Path) {
	text, err := ReadText(files, git.Join("config"))
	if err != nil {
		return
	}
	settings, err := gitdir.Parse(text)
	if err != nil {
		return
	}
	r.Hosts = map[string]string{}
	sure := true
	pushDefault := ""
	for _, s := range settings {
		switch {
		case s.Section == "url" || s.Section == "include" || s.Section == "includeif" || s.Name == "pushurl":
			sure = false
		case s.Section == "remote" && s.Name == "url":
			r.Hosts[s.Sub] = hostOf(s.Value)
		case s.Section == "remote" && s.Name == "pushdefault":
			pushDefault = s.Value
		case s.Section == "branch" && s.Sub == r.Branch && s.Name == "remote":
			r.Upstream = s.Value
		}
	}
	if r.Upstream == "" && len(r.Hosts) == 1 {
		for r.Upstream = range r.Hosts {
		}
	}
	if !sure || pushDefault != "" {
		r.Hosts = nil
	}
	if pushDefault != "" {
		r.Upstream = ""
	}
}

// hostOf is the host of an address as git reads it, empty where there is none.
func hostOf(address string) string {
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil {
			return ""
		}
		return u.Host
	}
	host, _, ok := strings.Cut(address, ":")
	if !ok || strings.Contains(host, "/") {
		return ""
	}
	return host[strings.LastIndexByte(host, '@')+1:]
}
