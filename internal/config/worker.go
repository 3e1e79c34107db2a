package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/schema"
	"github.com/tongs-ai/tongs/worker"
)

// The endings of worker files: front matter and Markdown, or YAML alone.
const (
	workerEnding = ".worker"
	yamlEnding   = ".yaml"
)

// WorkersDir is the directory of workers, in a workspace and in the user's directory.
const WorkersDir = "workers"

// Worker is a worker file, and what it says of toolsets that must be loaded.
type Worker struct {
	worker.File
	Toolsets Toolsets
	// Warnings are what does not count, and Advice what works, and not as somebody may think.
	Warnings, Advice []string
}

// WorkerOptions say how a worker file is read.
type WorkerOptions struct {
	// Own says that the file is in the user's own directory, and so trusted. Trusted reports whether a person vouched for
	// another one with this content; nil means for none.
	Own     bool
	Trusted func(path, hash string) bool
	// Home replaces ~ in paths; empty is that of the environment.
	Home string
}

// LoadWorker reads a worker file. It is as strict as the configuration: what is not understood is an error.
func LoadWorker(path string, opt WorkerOptions) (*Worker, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, failed(err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 && !opt.Own {
		return nil, failed(Problem{File: path, Message: "is a symbolic link; name the file itself"})
	}
	read := readRegular
	if opt.Own { // it is trusted because of where it is
		read = func(path string) ([]byte, error) { return readOwned(path, owned.User()) }
	}
	data, err := read(path)
	if err != nil {
		return nil, failed(Problem{File: path, Message: err.Error()})
	}
	return ParseWorker(path, data, opt)
}

// ParseWorker reads the content of a worker file.
func ParseWorker(path string, data []byte, opt WorkerOptions) (*Worker, error) {
	w := &Worker{File: worker.File{Path: path, Hash: Hash(data)}}
	w.Trusted = opt.Own || opt.Trusted != nil && opt.Trusted(path, w.Hash)
	l := &layer{
		source: &source{path: path}, kind: tongs.LayerWorker, narrow: !w.Trusted, base: filepath.Base(path),
		dir: filepath.Dir(path), home: opt.Home,
	}
	if l.home == "" {
		l.home, _ = os.UserHomeDir()
	}
	head, body, err := divide(path, data)
	if err != nil {
		return nil, failed(Problem{File: path, Line: 1, Column: 1, Message: err.Error()})
	}
	w.Instructions = body
	root := value{node: l.parse(head)}
	l.lines = strings.Split(string(data), "\n")
	if len(l.problems) == 0 {
		root.pos = position(root.node)
		l.object(root, l.workerReaders(w))
		l.complete(w)
	}
	if err := l.err(); err != nil {
		return nil, failed(err)
	}
	w.Rules, w.Toolsets = l.rules, l.toolsets
	if m := l.mode; m != nil {
		w.mode(m)
	}
	w.advise()
	return w, nil
}

// divide separates the front matter of a .worker file from its instructions. The lines of the front matter keep their
// numbers.
func divide(path string, data []byte) (head []byte, body string, err error) {
	switch filepath.Ext(path) {
	case yamlEnding, ".yml":
		return data, "", nil
	case workerEnding:
	default:
		return nil, "", fmt.Errorf("a worker file ends in %s or %s", workerEnding, yamlEnding)
	}
	text := strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\uFEFF"))), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, "", errors.New("a .worker file begins with a line ---, YAML, and another line ---; then come its instructions")
	}
	if strings.HasPrefix(rest, "---\n") {
		return nil, rest[4:], nil
	}
	matter, body, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		if matter, ok = strings.CutSuffix(strings.TrimRight(rest, "\n"), "\n---"); !ok {
			return nil, "", errors.New("the front matter has no end: a line --- after the YAML")
		}
	}
	return []byte("\n" + matter + "\n"), body, nil
}

var workerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// workerReaders are the readers of the keys of a worker file.
func (l *layer) workerReaders(w *Worker) map[string]func(value) {
	return map[string]func(value){
		"name":              func(v value) { w.Name, _ = l.text(v) },
		"description":       func(v value) { w.Description, _ = l.text(v) },
		"model":             func(v value) { w.Model = l.readModel(v) },
		"compatible_models": func(v value) { w.Compatible = l.texts(v) },
		"max_tokens":        func(v value) { w.MaxTokens = int(l.number(v, setting{unit: count, min: 1, max: 1e7})) },
		"temperature": func(v value) {
			t := l.decimal(v, 2)
			w.Temperature = &t
		},
		"price":        func(v value) { w.Price = l.readPrice(v) },
		"toolsets":     func(v value) { l.readWorkerToolsets(v, w) },
		"approval":     func(v value) { l.approval(v, "", "", true) },
		"zones":        func(v value) { l.readWorkerZones(v, w) },
		"sandbox":      func(v value) { l.object(v, map[string]func(value){"zones": func(v value) { l.readWorkerZones(v, w) }}) },
		"limits":       func(v value) { l.readWorkerLimits(v, w) },
		"attachments":  func(v value) { l.readAttachments(v, w) },
		"output":       func(v value) { w.Output = l.readSchema(v) },
		"instructions": func(v value) { l.readInstructions(v, w) },
	}
}

// complete checks what no key can tell by itself.
func (l *layer) complete(w *Worker) {
	if w.Name == "" {
		w.Name = strings.TrimSuffix(filepath.Base(w.Path), filepath.Ext(w.Path))
	}
	if !workerName.MatchString(w.Name) {
		l.fail(nil, "the name %s: want 1 to 64 of letters, digits, _ and -", quote(w.Name))
	}
	if strings.TrimSpace(w.Instructions) == "" {
		l.fail(nil, "the worker has no instructions; write them below the front matter, or as 'instructions:' in a %s file", yamlEnding)
	}
	if w.Limits.Cost > 0 && w.Price == nil {
		l.fail(nil, "limits.cost needs a price; add 'price: {input: 3, output: 15}', in US dollars for a million tokens")
	}
	if slices.Contains(w.Workers, w.Name) {
		l.fail(nil, "the worker lists itself in toolsets.workers; a worker cannot call itself")
	}
	if w.Model != "" && !w.Fits(w.Model) {
		l.fail(nil, "the model %s is not one of compatible_models: %s", quote(w.Model), strings.Join(w.Compatible, ", "))
	}
}

// mode makes a rule of the mode of a worker: it can only be stricter than what holds otherwise.
func (w *Worker) mode(m *located[tongs.Mode]) {
	switch m.value {
	case tongs.ModeNone:
		w.Rules = append(w.Rules, tongs.Rule{Layer: tongs.LayerWorker, Origin: m.origin, Untrusted: !w.Trusted, Decision: tongs.Ask})
	case tongs.ModeAll:
		w.Warnings = append(w.Warnings, m.origin+": approval.mode: all does not count in a worker file; it can make the mode stricter only")
	}
}

// advise tells what works, and not as somebody may think.
func (w *Worker) advise() {
	touches := slices.ContainsFunc(w.File.Toolsets, func(t string) bool { return slices.Contains([]string{"filesystem", "search", "shell", "code"}, t) })
	if touches && !w.Zoned {
		w.Advice = append(w.Advice,
			"it declares no zones: started by a person it works in the whole workspace, called by another worker it can touch no file")
	}
}

// readModel reads the name of a model. A script is meant from the file.
func (l *layer) readModel(v value) string {
	text, ok := l.text(v)
	if file, script := strings.CutPrefix(text, "script:"); ok && script {
		return "script:" + l.path(file)
	}
	return text
}

func (l *layer) readInstructions(v value, w *Worker) {
	text, ok := l.text(v)
	if ok && filepath.Ext(w.Path) == workerEnding {
		l.fail(v.pos, "the instructions of a .worker file stand below its front matter")
		return
	}
	w.Instructions = text
}

// readWorkerToolsets reads toolsets as a configuration file has them, and takes note of which the worker has.
func (l *layer) readWorkerToolsets(v value, w *Worker) {
	l.readToolsets(v)
	if len(l.sql) > 0 {
		l.fail(v.pos, "connections of toolsets.sql are settings of the configuration (%s), not of a worker", UserFile)
	}
	if l.web.proxy != nil || l.web.robots != nil || l.web.search != nil {
		l.fail(v.pos, "proxy, robots and search of toolsets.web are settings of the configuration (%s), not of a worker", UserFile)
	}
	quiet := &source{}
	for _, f := range quiet.fields(v) {
		switch {
		case f.key == "forge":
			w.File.Toolsets = append(w.File.Toolsets, "custom")
		case f.key != "custom" || len(l.toolsets.Custom) == 0: // of a module, only what is listed is meant
			w.File.Toolsets = append(w.File.Toolsets, f.key)
		}
		if f.key != "mcp" {
			continue
		}
		w.Servers = map[string][]string{}
		for _, server := range quiet.fields(f.value) {
			w.Servers[server.key] = nil
			for _, key := range quiet.fields(server.value) {
				if key.key == "tools" {
					w.Servers[server.key] = quiet.texts(key.value)
				}
			}
		}
	}
	for _, c := range l.toolsets.Custom {
		w.Listed = append(w.Listed, c.Tools...)
	}
	for _, e := range l.toolsets.External {
		w.Listed = append(w.Listed, e.Tools...)
	}
	for _, t := range l.toolsets.Workers {
		w.Workers = append(w.Workers, t.Workers...)
	}
}

// readWorkerZones reads the zones that a worker may touch, by name.
func (l *layer) readWorkerZones(v value, w *Worker) {
	if w.Zoned {
		l.fail(v.pos, "zones are given twice, as zones and as sandbox.zones")
		return
	}
	w.Zoned = true
	for _, f := range l.fields(v) {
		z := worker.Zone{Name: f.key, Origin: l.origin(f.keyAt)}
		if !zoneName.MatchString(f.key) {
			l.fail(f.keyAt, "zone name %s: want a lower-case letter, then at most 31 lower-case letters, digits, _ and -", quote(f.key))
			continue
		}
		l.object(f.value, map[string]func(value){
			"path": func(v value) { z.Path, _ = l.text(v) },
			"mode": func(v value) {
				word, _ := l.word(v, "ro", "rw")
				z.Writable = word == "rw"
			},
			"approval": func(v value) {
				l.object(v, map[string]func(value){
					"write":  func(v value) { z.Write = l.maybeDecision(v) },
					"delete": func(v value) { z.Delete = l.maybeDecision(v) },
				})
			},
		})
		w.Zones = append(w.Zones, z)
	}
}

func (l *layer) maybeDecision(v value) *tongs.Decision {
	d, ok := l.decision(v)
	if !ok {
		return nil
	}
	return &d
}

// number reads a whole number in the setting's unit.
func (l *layer) number(v value, s setting) int64 {
	text, ok := l.scalar(v)
	if !ok {
		return 0
	}
	n, err := s.parse(text)
	if err != nil {
		l.fail(v.pos, "%s is %s; %v", v.name(), quote(text), err)
	}
	return n
}

// decimal reads a number from 0 to most.
func (l *layer) decimal(v value, most float64) float64 {
	text, ok := l.scalar(v)
	if !ok {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= most) {
		l.fail(v.pos, "%s is %s; want a number from 0 to %g", v.name(), quote(text), most)
		return 0
	}
	return n
}

func (l *layer) readWorkerLimits(v value, w *Worker) {
	whole := func(to *int) func(value) {
		return func(v value) { *to = int(l.number(v, setting{unit: count, min: 1, max: 1e9})) }
	}
	m := &w.Limits
	l.object(v, map[string]func(value){
		"turns":        whole(&m.Turns),
		"filesChanged": whole(&m.FilesChanged),
		"linesChanged": whole(&m.LinesChanged),
		"tokens":       func(v value) { m.Tokens = l.number(v, setting{unit: count, min: 1, max: 1e12}) },
		"context":      func(v value) { m.Context = l.number(v, setting{unit: count, min: 1000, max: 1e8}) },
		"time": func(v value) {
			m.Time = time.Duration(l.number(v, setting{unit: seconds, min: 1, max: int64(30 * day)}))
		},
		"cost": func(v value) {
			if m.Cost = l.decimal(v, 1e6); m.Cost == 0 {
				l.fail(v.pos, "%s should be more than 0 US dollars", v.name())
			}
		},
	})
}

func (l *layer) readPrice(v value) *model.Price {
	p := &model.Price{}
	dollars := func(to *float64) func(value) { return func(v value) { *to = l.decimal(v, 1e6) } }
	maybe := func(to **float64) func(value) {
		return func(v value) {
			n := l.decimal(v, 1e6)
			*to = &n
		}
	}
	l.object(v, map[string]func(value){
		"input": dollars(&p.Input), "output": dollars(&p.Output), "cacheRead": maybe(&p.CacheRead), "cacheWrite": maybe(&p.CacheWrite),
	})
	return p
}

func (l *layer) readAttachments(v value, w *Worker) {
	if n, ok := v.node.(*ast.BoolNode); ok {
		w.Attachments.None = !n.Value
		return
	}
	l.object(v, map[string]func(value){
		"count": func(v value) { w.Attachments.Count = int(l.number(v, setting{unit: count, min: 1, max: 100})) },
		"bytes": func(v value) { w.Attachments.Bytes = l.number(v, setting{unit: size, min: 1, max: 100 << 20}) },
		"types": func(v value) { w.Attachments.Types = l.texts(v) },
	})
}

// readSchema reads a JSON schema that is written as YAML.
func (l *layer) readSchema(v value) *jsonschema.Schema {
	var tree any
	if err := yaml.NodeToValue(v.node, &tree); err != nil {
		l.fail(v.pos, "%s cannot be read: %v", v.name(), err)
		return nil
	}
	text, err := json.Marshal(tree)
	s := &jsonschema.Schema{}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err == nil {
		err = new(schema.Validator).Compile(&tongs.Spec{Name: "output", Input: s})
	}
	if err != nil {
		l.fail(v.pos, "%s is not a JSON schema: %v", v.name(), err)
		return nil
	}
	return s
}

//go:embed worker.schema.json
var workerSchema []byte

// WorkerSchema returns the JSON schema of worker files, for editors.
func WorkerSchema() []byte { return bytes.Clone(workerSchema) }

// FoundWorker is a file in one of the directories of workers.
type FoundWorker struct {
	Path string
	// Own is set for those of the user's directory.
	Own bool
}

// FindWorkers lists the worker files of the user's directory and of the workspace. Either may be empty.
func FindWorkers(workspace, configDir string) ([]FoundWorker, error) {
	var list []FoundWorker
	for _, place := range []struct {
		dir string
		own bool
	}{{configDir, true}, {workspace, false}} {
		if place.dir == "" {
			continue
		}
		dir := filepath.Join(place.dir, WorkersDir)
		entries, err := os.ReadDir(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, failed(err)
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); ext == workerEnding || ext == yamlEnding {
				list = append(list, FoundWorker{Path: filepath.Join(dir, e.Name()), Own: place.own})
			}
		}
	}
	return list, nil
}

// OwnConfigDir returns where the configuration of the user with that home directory usually is, whatever the environment
// says. Empty looks the home up in the user database.
func OwnConfigDir(home string) (string, error) {
	if home == "" {
		var err error
		if home, err = passwdHome(); err != nil {
			return "", err
		}
	}
	return configDirOf(home), nil
}
