package config

// CustomTools are tools of a module beside the file.
type CustomTools struct {
	Entry
	// Module is the absolute path; Tools are the names to expose.
	Module string   `json:"module"`
	Tools  []string `json:"tools"`
	// Network are hosts that the module may reach.
	Network []string `json:"network,omitempty"`
}

// ExternalTools are tools of a package of npm.
type ExternalTools struct {
	Entry
	Package string `json:"package"`
	// Import is the export of the package that holds the tools; Dir is where the file is, from which the package is found.
	Import string `json:"import,omitempty"`
	Dir    string `json:"dir,omitempty"`
	// Tools are the names to expose: without a list of them, those that approval.tools names.
	Tools   []string `json:"tools,omitempty"`
	Network []string `json:"network,omitempty"`
}

func (l *layer) readCustom(v value) {
	if v.null() {
		return
	}
	c := CustomTools{Entry: l.entry(v)}
	l.object(v, l.withApproval("custom", map[string]func(value){
		"module": func(v value) {
			if text, ok := l.text(v); ok {
				c.Module = l.path(text)
			}
		},
		"tools":   func(v value) { c.Tools = l.texts(v) },
		"network": func(v value) { c.Network = l.texts(v) },
	}))
	switch {
	case c.Module == "" && (len(c.Tools) > 0 || len(c.Network) > 0):
		l.fail(v.pos, "%s lists tools but no module to load them from", v.name())
	case c.Module != "":
		l.toolsets.Custom = append(l.toolsets.Custom, c)
	}
}

func (l *layer) readExternal(v value) {
	if v.null() {
		return
	}
	e := ExternalTools{Entry: l.entry(v), Dir: l.dir}
	listed := false
	var approved []string
	l.object(v, map[string]func(value){
		"package": func(v value) { e.Package, _ = l.text(v) },
		"import":  func(v value) { e.Import, _ = l.text(v) },
		"tools":   func(v value) { e.Tools, listed = l.texts(v), true },
		"network": func(v value) { e.Network = l.texts(v) },
		"approval": func(v value) {
			l.approval(v, "external", "", false)
			for _, f := range l.fields(v) {
				if f.key == "tools" {
					approved = l.names(f.value)
				}
			}
		},
	})
	if e.Package == "" {
		l.fail(v.pos, "%s needs a package", v.name())
		return
	}
	if !listed {
		e.Tools = approved
	}
	l.toolsets.External = append(l.toolsets.External, e)
}

// names are the keys of an object whose values were read already.
func (l *layer) names(v value) (names []string) {
	before := len(l.problems)
	for _, f := range l.fields(v) {
		names = append(names, f.key)
	}
	l.problems = l.problems[:before] // they were told
	return names
}
