package shellsyntax

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
 PAGER BROWSER MAKEFLAGS MFLAGS
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

// assignName follows what gives a variable a value; nil is one that is not known. What the value is where it is used is a
// matter of the facts, what programs are given one of the state.
func (a *analyser) assignName(st *state, name string, v *value) {
	if steers(name) {
		a.poison("assigning " + name + " changes what runs")
	}
	if listed(evaluated, name) && (v == nil || v.array || !v.arg.number()) {
		a.poison("the shell evaluates what " + name + " is given, and may run commands in it")
	}
	a.gets(st, name, v)
}

// evaluated are the variables that are integers from the start in some version of bash: what they are given is arithmetic.
const evaluated = ` EPOCHSECONDS EUID HISTCMD LINENO OPTIND PPID RANDOM SECONDS SRANDOM UID `

// assign follows an assignment. Where it is before a command, it holds for that command only.
func (a *analyser) assign(c ctx, st *state, as *syntax.Assign, before string) {
	if as.Name == nil {
		a.poison("what is assigned is only known when it runs")
		return
	}
	name := as.Name.Value
	v := a.assigned(c, st, as)
	if before == "read" && name == "IFS" {
		return
	}
	a.assignName(st, name, v)
	if before != "" {
		st.exports.mark(name)
	}
	if t := c.facts.places[as]; t != nil && before == "" {
		if v != nil && !(t.once && literal(as)) {
			v.soften()
		}
		t.value = v
	}
}

// soften makes a value one that is not sure enough to name a command.
func (v *value) soften() { v.arg.soft, v.list = true, soft(v.list) }

// assigned returns the value that an assignment gives, nil where it is not known.
func (a *analyser) assigned(c ctx, st *state, as *syntax.Assign) *value {
	if as.Index != nil {
		a.subscript(c, st, as.Name, as.Index)
	}
	if as.Array != nil {
		return a.array(c, st, as)
	}
	got := a.one(c, st, as.Value)
	if as.Append || as.Index != nil || !got.exact() && !got.num && !got.below {
		return nil
	}
	got.src = ""
	return &value{arg: got}
}

func (a *analyser) array(c ctx, st *state, as *syntax.Assign) *value {
	v := &value{array: true, list: []arg{}}
	keyed := c.facts.keyed(as.Name.Value, c.atOffset(as.End().Offset()))
	for _, el := range as.Array.Elems {
		if el.Index != nil {
			if w, ok := el.Index.(*syntax.Word); ok && keyed {
				a.one(c, st, w)
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
	if as.Append || keyed {
		return nil
	}
	return v
}

// decl follows declare, local, export, readonly and typeset.
func (a *analyser) decl(c ctx, st *state, x *syntax.DeclClause) {
	defer a.begin(c, x.Pos(), x.End())()
	defer a.giving(nil)()
	argv := []string{x.Variant.Value}
	if x.Variant.Value == "nameref" {
		a.poison("a reference to another variable cannot be followed")
	}
	if flags, _ := declared(x); strings.Contains(flags, "f") &&
		(x.Variant.Value == "readonly" || strings.Contains(flags, "r")) {
		a.poison("a function that can no longer be changed cannot be followed")
	}
	values := make([]*value, len(x.Args))
	for i, as := range x.Args {
		word := ""
		word, values[i] = a.declArg(c, st, x, as)
		argv = append(argv, word)
	}
	// All words are expanded before any is assigned.
	for i, as := range x.Args {
		if t := c.facts.places[as]; t != nil {
			t.value = values[i]
		}
		if as.Name != nil && exporting(x) {
			a.exports(c, st, as.Name.Value)
		}
	}
	a.executeArgv(argv)
}

func (a *analyser) declArg(c ctx, st *state, x *syntax.DeclClause, as *syntax.Assign) (string, *value) {
	src := text(c.src, as.Pos(), as.End())
	if as.Name == nil {
		got := a.one(c, st, as.Value)
		if !got.exact() || got.text == "" || !strings.ContainsAny(got.text[:1], "-+") ||
			strings.Trim(got.text[1:], "aAfFgprtx-") != "" {
			a.poison(x.Variant.Value + " " + src + " cannot be followed")
		}
		return got.element(), nil
	}
	name := as.Name.Value
	if as.Naked {
		if as.Index != nil {
			a.subscript(c, st, as.Name, as.Index)
		}
		return name, nil
	}
	v := a.assigned(c, st, as)
	a.assignName(st, name, v)
	if x.Variant.Value == "local" && len(c.calls) == 0 {
		v = nil // it fails outside of a function
	}
	if v == nil {
		return name + "=" + unresolved + src, nil
	}
	v.soften()
	if v.array || !v.arg.exact() {
		return name + "=" + unresolved + src, v
	}
	return name + "=" + v.arg.text, v
}
