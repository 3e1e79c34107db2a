package registries

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// NPM is what programs see of the user's own .npmrc.
func (p Place) NPM() string { return Redact(filepath.Join(p.Home, ".npmrc")) }

// pipSettings are the settings of pip that name registries, and hosts that need no certificate.
var pipSettings = []string{"index-url", "extra-index-url", "trusted-host"}

// Pip is a configuration of pip with the registries of the machine's and the user's own, without credentials; empty where they
// name none.
func (p Place) Pip() string {
	config := p.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(p.Home, ".config")
	}
	found := map[string][]string{}
	for _, file := range []string{"/etc/pip.conf", filepath.Join(p.Home, ".pip", "pip.conf"), filepath.Join(config, "pip", "pip.conf")} {
		last := ""
		for line := range strings.Lines(content(file)) {
			key, value, ok := setting(line)
			if !ok && (line[0] == ' ' || line[0] == '\t') { // a further value of the line before
				key, value, ok = "", line, last != ""
			}
			if key = strings.ReplaceAll(key, "_", "-"); key != "" {
				last = ""
				if ok && slices.Contains(pipSettings, key) {
					last, found[key] = key, nil
				}
			}
			if last != "" && ok {
				found[last] = append(found[last], harmless(last, value)...)
			}
		}
	}
	var b strings.Builder
	for _, key := range pipSettings {
		if len(found[key]) > 0 {
			b.WriteString(key + " = " + strings.Join(found[key], "\n    ") + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "[global]\n" + b.String()
}

// hostName is a host, with a port or without.
var hostName = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)

// harmless are the values of a setting without credentials.
func harmless(key, value string) (list []string) {
	if key != "trusted-host" {
		for _, n := range (source{}).named(key, value) {
			list = append(list, n.URL)
		}
		return list
	}
	for _, host := range strings.Fields(value) {
		if hostName.MatchString(host) {
			list = append(list, host)
		}
	}
	return list
}

// goSettings are those of Go that say where modules come from and which of them are checked.
var goSettings = []string{"GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOINSECURE"}

// Go are the settings of the user's environment and of what 'go env -w' wrote, without credentials.
func (p Place) Go() map[string]string {
	config := p.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(p.Home, ".config")
	}
	set := map[string]string{}
	for line := range strings.Lines(content(filepath.Join(config, "go", "env"))) {
		if key, value, ok := setting(line); ok && slices.Contains(goSettings, key) {
			set[key] = strings.TrimSpace(value)
		}
	}
	for _, key := range goSettings {
		if value := p.Getenv(key); value != "" {
			set[key] = value
		}
	}
	for key, value := range set {
		if set[key] = withoutCredentials(value); set[key] == "" {
			delete(set, key)
		}
	}
	return set
}

// proxyList is a list of addresses and words with the separators of GOPROXY, each with what separates it from the next.
var proxyList = regexp.MustCompile(`[^,|]+[,|]?`)

// withoutCredentials takes user names, passwords and queries off the addresses of a list.
func withoutCredentials(value string) string {
	return proxyList.ReplaceAllStringFunc(value, func(item string) string {
		text := strings.TrimRight(item, ",|")
		if !strings.Contains(text, "://") && !strings.Contains(text, "@") {
			return item
		}
		u, err := url.Parse(text)
		if err != nil {
			return ""
		}
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String() + item[len(text):]
	})
}

// Environ are variables of the user's environment that name registries, without credentials, as KEY=value.
func (p Place) Environ() (list []string) {
	for _, s := range p.sources() {
		if s.env == "" || s.manager == "go" {
			continue
		}
		var urls []string
		for _, n := range s.named("", p.Getenv(s.env)) {
			urls = append(urls, n.URL)
		}
		if len(urls) > 0 {
			list = append(list, s.env+"="+strings.Join(urls, " "))
		}
	}
	const trusted = "PIP_TRUSTED_HOST"
	if hosts := harmless("trusted-host", p.Getenv(trusted)); len(hosts) > 0 {
		list = append(list, trusted+"="+strings.Join(hosts, " "))
	}
	return list
}
