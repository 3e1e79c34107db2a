package forge

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// buildTime is how long a build may take.
const buildTime = 5 * time.Minute

// The scripts of a build: one compiles what it is given and runs nothing of it, the other runs it.
var (
	//go:embed build.sh
	buildScript []byte
	//go:embed test.sh
	testScript []byte
)

func lookPath(name string) (string, error) { return exec.LookPath(name) }

// Built is the value of build_custom_tool.
type Built struct {
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Digest   string `json:"digest" jsonschema:"Of all files of the tool."`
	Cached   bool   `json:"cached"`
	Duration int64  `json:"duration"`
	Output   string `json:"output"`

	failed string
}

// Present says what to do next.
func (b *Built) Present(r *tongs.Result) {
	r.Title = "Build custom tool " + b.Name
	if b.failed != "" {
		r.Content = b.Output
		return
	}
	r.Content = programoutput.Text(b.Output, "", fmt.Sprintf("%s is built and passes its tests; call it by its name or by run_custom_tool. "+
		"A person is asked until it is approved: tongs forge approve %s", b.Name, b.Name))
}

type buildInput struct {
	Name  string `json:"name" jsonschema:"Custom tool, as created." alias:"tool_name"`
	Again bool   `json:"again,omitempty" jsonschema:"Also if nothing changed."`
}

func (s *Set) buildTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[buildInput, Built]{
		Spec: tongs.Spec{
			Name: "build_custom_tool", Title: "Build custom tool", Toolset: Toolset, Control: true,
			Description: "Compiles and tests a custom tool in the sandbox, offline.",
			Needs:       tongs.Execute | tongs.Write, Optional: tongs.Read,
		},
		Plan: s.planBuild,
		Run: func(ctx context.Context, env *tongs.Env, in buildInput) (Built, error) {
			j, err := s.job(in.Name)
			if err != nil {
				return Built{}, err
			}
			j.again = in.Again
			return s.build(ctx, env, j)
		},
	})
}

// job is a build to be done.
type job struct {
	name     string
	manifest *Manifest
	content  *content
	lang     language
	program  string // what builds or runs it
	sources  string // the digest of everything but what is built
	key      string
	again    bool // build it also where that was done before
}

// job reads what a build starts from. Nothing of it is run.
func (s *Set) job(name string) (*job, error) {
	e, err := s.find(name)
	if err != nil {
		return nil, err
	}
	c, err := load(e.dir)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s: %w", name, err)
	}
	data, ok := c.data[ManifestName]
	if !ok {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s is missing", spelled(name, ManifestName))
	}
	m, err := ParseManifest(data, name)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	j := &job{name: name, manifest: m, content: c}
	if j.lang, err = findLanguage(languageOf(name, c.files)); err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "there is no source %s, .sh or .py to build; a tool in another language is built by a shell command",
			spelled(name, name+".go"))
	}
	entry := c.data[m.Entrypoint]
	if j.lang.name == "go" && (strings.HasSuffix(m.Entrypoint, ".go") || len(entry) > 0 && text(entry)) {
		return nil, tongs.Errorf(tongs.CodeConfigError, "entrypoint %q is a source; name the program that the build makes: entrypoint: %s",
			m.Entrypoint, name)
	}
	if err := vendored(name, c); err != nil {
		return nil, err
	}
	runs := map[string]string{"go": "go", "sh": "sh", "python": "python3"}[j.lang.name]
	if j.program, err = s.opt.LookPath(runs); err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError,
			"%s is not installed on this machine, and %s needs it; install it, or use another language", runs, name)
	}
	j.sources = digest(sourcesOf(c, m, j.lang))
	tool, _ := stampOf(j.program)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %v %x %x", j.program, tool, sha256.Sum256(buildScript), sha256.Sum256(testScript)))
	j.key = strings.TrimPrefix(j.sources, "sha256:") + "-" + hex.EncodeToString(sum[:6])
	return j, nil
}

// sourcesOf are the files that a build starts from.
func sourcesOf(c *content, m *Manifest, lang language) []file {
	if lang.script {
		return c.files
	}
	return slices.DeleteFunc(slices.Clone(c.files), func(f file) bool { return f.Path == m.Entrypoint })
}

func (s store) builds() string { return filepath.Join(s.dir, "builds") }

// provenance says where a program comes from, as far as that is known.
func (s *Set) provenance(e *entry, c *content, path string) string {
	if e.manifest == nil || path != e.manifest.Entrypoint {
		return ""
	}
	lang, err := findLanguage(languageOf(e.name, c.files))
	if err != nil || lang.script {
		return ""
	}
	sources := strings.TrimPrefix(digest(sourcesOf(c, e.manifest, lang)), "sha256:")
	if s.opt.NoApprovals {
		return ", not known to be built from this source"
	}
	found, _ := filepath.Glob(filepath.Join(s.store.builds(), sources+"-*"))
	for _, dir := range found {
		if data, err := os.ReadFile(filepath.Join(dir, "program")); err == nil && bytes.Equal(data, c.data[path]) {
			return ", built from this source by build_custom_tool"
		}
	}
	return ", not known to be built from this source"
}

func (j *job) effects() []tongs.Effect {
	argv := map[string][]string{
		"go": {"go", "build", "-o", j.manifest.Entrypoint, "."}, "sh": {"sh", j.name + j.lang.test}, "python": {"python3", j.name + j.lang.test},
	}[j.lang.name]
	return []tongs.Effect{{
		Kind: tongs.EffectExecute, Argv: argv, Version: tongs.Version("forge:" + j.sources), Why: "builds and tests the sources of " + j.name,
	}}
}

func (s *Set) planBuild(_ context.Context, v *tongs.View, in buildInput) (*tongs.Plan, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	j, err := s.job(in.Name)
	if err != nil {
		return nil, err
	}
	plan := &tongs.Plan{Effects: j.effects(), Kind: tongs.KindExecute, Message: "Build and test the custom tool " + j.name}
	if !j.lang.script {
		out := place(j.name).Join(j.manifest.Entrypoint)
		version, err := v.Files.Version(out)
		if err != nil {
			return nil, err
		}
		plan.Effects = append(plan.Effects, tongs.Effect{Kind: tongs.EffectWrite, Path: out, Version: version, Why: "the program that is built"})
	}
	plan.Preview = func(context.Context) (string, error) {
		return j.content.show(nil, func(string) string { return "" }), nil
	}
	return plan, nil
}

func (s *Set) build(ctx context.Context, env *tongs.Env, j *job) (Built, error) {
	out := Built{Name: j.name, Version: j.manifest.Version}
	began := time.Now()
	program, err := s.compile(ctx, env, j, &out)
	out.Duration = time.Since(began).Milliseconds()
	if err != nil {
		return out, err
	}
	if !j.lang.script {
		if err := s.install(ctx, env, j, program); err != nil {
			return out, err
		}
	}
	err = s.changed()
	if e := s.current.Load().find(j.name); e != nil {
		out.Digest = e.digest
		if c, loadErr := load(e.dir); loadErr == nil && s.store.dir != "" && !s.opt.NoApprovals {
			err = errors.Join(err, s.keep(e, c, ""))
		}
	}
	return out, err
}

// compile returns the program, from what was kept of an earlier build of the same sources or by building them.
func (s *Set) compile(ctx context.Context, env *tongs.Env, j *job, out *Built) ([]byte, error) {
	kept := filepath.Join(s.store.builds(), j.key, "program")
	if j.again || s.opt.NoApprovals {
		_ = os.RemoveAll(filepath.Dir(kept))
	}
	if data, err := os.ReadFile(kept); err == nil && !s.opt.NoApprovals {
		out.Cached = true
		out.Output = "nothing changed since it was last built"
		return data, nil
	}
	if err := os.MkdirAll(s.store.programs(), 0o700); err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(s.store.programs(), "build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	if err := j.stage(stage); err != nil {
		return nil, err
	}
	output := env.Output("stdout")
	defer func() { out.Output = output.Excerpt() }()
	program := []byte{}
	if !j.lang.script {
		exit, err := j.run(ctx, env, filepath.Join(stage, "build.sh"), output, out)
		if err != nil {
			return nil, err
		}
		if program, err = j.results(env, exit, stage); err != nil {
			return nil, err
		}
	}
	// What was compiled is kept aside by now: the tests are code of whoever wrote them.
	if _, err := j.run(ctx, env, filepath.Join(stage, "test.sh"), output, out); err != nil {
		return nil, err
	}
	c := &content{files: []file{{Path: "program"}}, data: map[string][]byte{"program": program}}
	return program, c.save(filepath.Dir(kept))
}

// run runs a script of the build to its end. Only the one that compiles has the builder's cache.
func (j *job) run(ctx context.Context, env *tongs.Env, script string, output tongs.Stream, out *Built) (*tongs.Exit, error) {
	exit, err := env.Commands.Run(ctx, &tongs.Command{
		Argv: []string{script}, Env: j.environ(filepath.Dir(script)), Dir: env.Dir, Scratch: true, ReadOnly: true, Build: filepath.Base(script) == "build.sh",
		Stdout: output, Stderr: output, Timeout: buildTime, Effects: j.effects(),
	})
	if need, ok := errors.AsType[*tongs.Need](err); ok {
		if exit == nil {
			return nil, need
		}
		err = nil // builds are offline: it failed, and its output says why
	}
	if exit == nil {
		return nil, err
	}
	if failure := j.failure(ctx, exit); failure != nil {
		out.failed = failure.Message
		return nil, failure
	}
	return exit, err
}

// stage writes what the scripts need, and the scripts.
func (j *job) stage(dir string) error {
	if err := j.content.save(filepath.Join(dir, "src")); err != nil {
		return err
	}
	examples, err := j.examples()
	if err != nil {
		return err
	}
	return errors.Join(writeSynced(filepath.Join(dir, "build.sh"), buildScript, 0o500), writeSynced(filepath.Join(dir, "test.sh"), testScript, 0o500),
		writeSynced(filepath.Join(dir, "examples.sh"), examples, 0o400))
}

// environ is what the scripts are told. Nothing of the sources has a say in how they are compiled: neither a toolchain nor a
// workspace that they name, nor a repository that they are in.
func (j *job) environ(stage string) []string {
	return []string{
		"FORGE_SRC=" + filepath.Join(stage, "src"), "FORGE_NAME=" + j.name, "FORGE_OUT=" + j.manifest.Entrypoint, "FORGE_LANG=" + j.lang.name,
		"FORGE_RUN=" + j.program, "GOPROXY=off", "GOFLAGS=-mod=mod -buildvcs=false", "GOTOOLCHAIN=local", "GOWORK=off", "GOENV=off",
		"CGO_ENABLED=0", "GOTELEMETRY=off", "PYTHONDONTWRITEBYTECODE=1",
	}
}

// examples is a script that calls the tool as its examples say, and compares.
func (j *job) examples() ([]byte, error) {
	var b bytes.Buffer
	for i, e := range j.manifest.Examples {
		args, err := json.Marshal(e.Arguments)
		if err != nil {
			return nil, err
		}
		flags, err := j.manifest.Flags(args)
		if err != nil {
			return nil, tongs.Errorf(tongs.CodeConfigError, "example %d: %w", i+1, err)
		}
		words := []string{shellQuote("./" + j.manifest.Entrypoint)}
		for _, f := range flags {
			words = append(words, shellQuote(f))
		}
		want := shellQuote(strings.TrimRight(e.Output, " \t\r\n"))
		fmt.Fprintf(&b, "got=$(%s) || { echo 'example %d failed' >&2; exit 14; }\n", strings.Join(words, " "), i+1)
		fmt.Fprintf(&b, "[ \"$got\" = %s ] || { printf 'example %d printed:\\n%%s\\nand should have printed:\\n%%s\\n' \"$got\" %s >&2; exit 14; }\n",
			want, i+1, want)
	}
	return b.Bytes(), nil
}

// failure is why a build did not come to its end, nil where it did.
func (j *job) failure(ctx context.Context, exit *tongs.Exit) *tongs.Error {
	source := spelled(j.name, j.name+j.lang.suffix)
	switch {
	case exit.TimedOut:
		return tongs.Errorf(tongs.CodeTimeout, "building %s took longer than %s; does its test wait for something?", j.name, buildTime)
	case ctx.Err() != nil:
		return tongs.Errorf(tongs.CodeCancelled, "the build of %s was cancelled", j.name)
	case exit.Code == 0:
		return nil
	}
	what := map[int]string{
		11: "%s does not compile; the errors below name line and column: edit it, and build again",
		12: "%s compiles, and go vet found mistakes in it: edit it, and build again",
		13: "%s compiles, and its test fails: edit it or its test, and build again",
		14: "%s compiles, and does not print what an example in tool.yaml says: edit one of them, and build again",
	}[exit.Code]
	if what == "" {
		return tongs.Errorf(tongs.CodeExecutionError, "%s could not be built: exit code %d", source, exit.Code)
	}
	return tongs.Errorf(tongs.CodeExecutionError, what, source)
}

// results keeps what the build left beside the script that tests it, and returns the program.
func (j *job) results(env *tongs.Env, exit *tongs.Exit, stage string) (program []byte, err error) {
	for _, f := range exit.Files {
		if f.Name != "program" && f.Name != "test" {
			continue
		}
		p, err := env.Files.Resolve(f.Path)
		if err != nil {
			return nil, err
		}
		data, err := take(env.Files.Host(p))
		if err != nil {
			return nil, err
		}
		if err := writeSynced(filepath.Join(stage, f.Name), data, 0o500); err != nil {
			return nil, err
		}
		if f.Name == "program" {
			program = data
		}
	}
	if program == nil {
		return nil, tongs.Errorf(tongs.CodeExecutionError, "the build made no program; is the source package main?")
	}
	return program, nil
}

// take reads a file that a program left, and removes it.
func take(host string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(host))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := readRegular(root, filepath.Base(host), maxBytes)
	return data, errors.Join(err, root.Remove(filepath.Base(host)))
}

// install puts the program beside its sources, all or nothing.
func (s *Set) install(ctx context.Context, env *tongs.Env, j *job, program []byte) error {
	out := place(j.name).Join(j.manifest.Entrypoint)
	release, err := hold(ctx, env, out)
	if err != nil {
		return err
	}
	changed := ""
	defer func() { release(changed) }()
	if err := owned.Replace(filepath.Join(s.opt.Dir, j.name, j.manifest.Entrypoint), program, 0o755); err != nil {
		return err
	}
	changed = "built " + out.String()
	return nil
}
