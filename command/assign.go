package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// steers returns whether a variable changes what runs, or where it looks.
func steers(name string) bool {
	if !isName(name) {
		return true // an exported function, or worse
	}
	if listed(harmless, name) {
		return false
	}
	if listed(steeringNames, name) {
		return true
	}
	for prefix := range strings.FieldsSeq(steeringPrefixes) {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	for suffix := range strings.FieldsSeq(steeringSuffixes) {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// listed reports whether a word is in a list of words.
func listed(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

// The variables by which shells, loaders, interpreters, version control and build tools are told what to run.
const (
	steeringNames = ` PATH ENV IFS HOME SHELL SHELLOPTS BASHOPTS PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND CDPATH GLOBIGNORE
 EXECIGNORE FIGNORE FUNCNEST FPATH ZDOTDIR INPUTRC HISTFILE HISTCONTROL MAIL MAILPATH POSIXLY_CORRECT EDITOR VISUAL
 PAGER BROWSER CC CXX CPP LD AR AS NM RANLIB STRIP OBJCOPY CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LDLIBS MAKEFLAGS MFLAGS
 GNUMAKEFLAGS MAKEFILES MAKE MAKELEVEL CLASSPATH M2_HOME ANT_OPTS ANT_ARGS SBT_OPTS GRADLE_OPTS MAVEN_OPTS GOFLAGS
 GOPATH GOROOT GOENV GOTOOLCHAIN GOPROXY GONOSUMDB GONOSUMCHECK GOSUMDB GOPRIVATE GOINSECURE GOEXPERIMENT GOCACHE
 GOMODCACHE GOBIN GOTOOLDIR GOVCS GOWORK GCCGO GREP_OPTIONS TAR_OPTIONS GZIP BZIP BZIP2 XZ_OPT XZ_DEFAULTS ZIPOPT
 UNZIP LOCPATH NLSPATH GCONV_PATH HOSTALIASES RES_OPTIONS LOCALDOMAIN GETCONF_DIR MALLOC_TRACE NIS_PATH
 RESOLV_HOST_CONF TMPDIR TMP TEMP TERMINFO TERMINFO_DIRS TERMCAP LESSOPEN LESSCLOSE LESSKEY LESS MORE LV MANOPT
 MANPATH MANROFFOPT GROFF_COMMAND_PREFIX COLUMN_OPTIONS JAVA_TOOL_OPTIONS _JAVA_OPTIONS WGETRC SYSTEM_WGETRC
 CURL_HOME KUBECONFIG AWKPATH AWKLIBPATH SED GREP TAR RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH SVN_SSH SVN_EDITOR
 HGEDITOR HGRCPATH HGMERGE FCEDIT SUDO_ASKPASS SSH_ASKPASS DISPLAY PWD OLDPWD RIPGREP_CONFIG_PATH BAT_CONFIG_PATH
 FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS VIMINIT EXINIT VIMRUNTIME MYVIMRC EMACSLOADPATH CONFIG_SITE CONFIG_SHELL
 PKG_CONFIG PKG_CONFIG_PATH ACLOCAL_PATH VIRTUAL_ENV CONDA_PREFIX R_HOME R_PROFILE R_ENVIRON ERL_FLAGS ERL_LIBS
 ELIXIR_ERL_OPTIONS MIX_HOME GHCRTS BASH SH REPLY_TO `
	steeringPrefixes = `LD_ DYLD_ BASH_ GIT_ PYTHON PIP_ UV_ POETRY_ PIPENV_ NODE_ NPM_ npm_ YARN_ PNPM_ COREPACK_ DENO_
 BUN_ PERL RUBY GEM_ BUNDLE_ RAKE JAVA_ JDK_ JVM_ KOTLIN_ MAVEN_ GRADLE_ CARGO_ RUSTC RUSTUP_ RUSTFLAGS RUSTDOC CGO_
 LLVM_ CLANG_ GCC_ DOCKER_ COMPOSE_ PODMAN_ BUILDKIT_ AWS_ GOOGLE_ AZURE_ SSH_ GPG GNUPG OPENSSL_ SSL_ CURL_ PHP
 LUA_ TCL TK_ R_LIBS XDG_ SYSTEMD_ SUDO_ LC_FILE CMAKE_ CTEST_ NINJA_ MESON_ BAZEL_ COMP_ READLINE_ GLIBC_ MALLOC_
 FAKEROOT FAKECHROOT TONGS_ FORGE_`
	steeringSuffixes = `PAGER _EDITOR _PROXY _proxy _SHELL _COMMAND _CMD _RCFILE _CONFIG _CONFIG_PATH _PRELOAD
 _LIBRARY_PATH _PYTHON`
	harmless = ` GOOS GOARCH GOARM GOAMD64 GOMAXPROCS GO111MODULE GOGC GOMEMLIMIT CGO_ENABLED NODE_ENV
 PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 RUST_BACKTRACE RUST_LOG
 CARGO_TERM_COLOR AWS_REGION AWS_DEFAULT_REGION GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME
 GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS CI NO_COLOR FORCE_COLOR TERM LANG
 LANGUAGE TZ DEBIAN_FRONTEND `
)

// assignName gives a variable a value; nil is one that is not known.
func (a *analyser) assignName(st *state, name string, v *value) {
	if steers(name) {
		a.poison("assigning " + name + " changes what runs")
	}
	if old := st.vars[name]; old != nil && old.frozen {
		a.poison("assigning " + name + " fails, since it was made read-only")
	}
	if dynamic(name) {
		v = nil
	}
	st.set(name, v)
}

// assign follows an assignment. Where it is before a command, it holds for that command only.
func (a *analyser) assign(c ctx, st *state, as *syntax.Assign, before string) {
	if as.Name == nil {
		a.poison("what is assigned is only known when it runs")
		return
	}
	name := as.Name.Value
	v := a.assigned(c, st, as)
	switch {
	case before == "read" && name == "IFS":
		return
	case before != "":
		if steers(name) {
			a.poison("assigning " + name + " changes what runs")
		}
		if old, ok := st.vars[name]; !ok || old != nil {
			st.set(name, nil)
		}
	default:
		a.assignName(st, name, v)
	}
}

// assigned returns the value that an assignment gives.
func (a *analyser) assigned(c ctx, st *state, as *syntax.Assign) *value {
	old := st.vars[as.Name.Value]
	if as.Index != nil {
		a.subscript(c, st, as.Name, as.Index)
	}
	if as.Array != nil {
		return a.array(c, st, as, old)
	}
	got := a.one(c, st, as.Value)
	switch {
	case old != nil && old.keyed:
		return old
	case as.Index != nil:
		return nil
	case as.Append && old != nil && old.arg.exact() && got.exact() && !old.array:
		return &value{arg: exactly(old.arg.text + got.text)}
	case as.Append:
		return nil
	case got.exact() || got.num || got.below:
		got.src = ""
		return &value{arg: got}
	}
	return nil
}

func (a *analyser) array(c ctx, st *state, as *syntax.Assign, old *value) *value {
	keyed := old != nil && old.keyed
	v := &value{array: true, list: []arg{}}
	for _, el := range as.Array.Elems {
		if el.Index != nil {
			if keyed {
				if w, ok := el.Index.(*syntax.Word); ok {
					a.one(c, st, w)
				}
			} else {
				a.arith(c, st, el.Index)
			}
			a.one(c, st, el.Value)
			v = nil
			continue
		}
		words := a.expand(c, st, el.Value, nil)
		if v == nil {
			continue
		}
		for _, w := range words {
			if w.many && !w.below {
				v = nil
				break
			}
			v.list = append(v.list, w)
		}
	}
	switch {
	case keyed:
		return old
	case v == nil || !as.Append:
		return v
	case old != nil && old.array:
		v.list = append(append([]arg{}, old.list...), v.list...)
		return v
	}
	return nil
}

// decl follows declare, local, export, readonly and typeset.
func (a *analyser) decl(c ctx, st *state, x *syntax.DeclClause) {
	defer a.begin(c, x.Pos(), x.End())()
	keyed, frozen := false, x.Variant.Value == "readonly"
	argv := []string{x.Variant.Value}
	if x.Variant.Value == "nameref" {
		a.poison("a reference to another variable cannot be followed")
	}
	for _, as := range x.Args {
		argv = append(argv, a.declArg(c, st, x, as, &keyed))
		switch {
		case as.Name == nil:
			frozen = frozen || strings.Contains(argv[len(argv)-1], "r")
		case frozen:
			v := &value{arg: arg{form: formOpaque}}
			if old := st.vars[as.Name.Value]; old != nil {
				*v = *old
			}
			v.frozen = true
			st.set(as.Name.Value, v)
		}
	}
	a.executeArgv(argv)
}

func (a *analyser) declArg(c ctx, st *state, x *syntax.DeclClause, as *syntax.Assign, keyed *bool) string {
	src := text(c.src, as.Pos(), as.End())
	if as.Name == nil {
		got := a.one(c, st, as.Value)
		if !got.exact() || got.text == "" || !strings.ContainsAny(got.text[:1], "-+") ||
			strings.Trim(got.text[1:], "aAfFgprtx-") != "" {
			a.poison(x.Variant.Value + " " + src + " cannot be followed")
		}
		*keyed = *keyed || strings.HasPrefix(got.text, "-") && strings.Contains(got.text, "A")
		return got.element()
	}
	name := as.Name.Value
	if *keyed {
		st.set(name, &value{arg: arg{form: formOpaque}, keyed: true})
	}
	if as.Naked {
		if as.Index != nil {
			a.subscript(c, st, as.Name, as.Index)
		}
		if _, ok := st.vars[name]; !ok || x.Variant.Value == "local" {
			if !*keyed && st.funcs[name] == nil {
				st.set(name, nil)
			}
		}
		return name
	}
	v := a.assigned(c, st, as)
	if *keyed {
		v = st.vars[name]
	}
	if x.Variant.Value == "local" && len(c.calls) == 0 {
		v = nil // it fails outside of a function
	}
	a.assignName(st, name, v)
	if v != nil && !v.array && !v.keyed && v.arg.exact() {
		return name + "=" + v.arg.text
	}
	return name + "=" + unresolved + src
}
