package module

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// faultTime is how long a module that cannot be bundled is left alone: what it wants may be installed by then.
const faultTime = 2 * time.Second

// mod is one module, and what is known of it.
type mod struct {
	set       *Set
	cfg       Config
	lang      language
	name, key string
	// unusable is why it cannot be used as it is configured.
	unusable error

	mu     sync.Mutex
	now    *bundled
	fault  error
	at     input // the state of the file that fault was found in
	since  time.Time
	rec    *record
	recAt  input
	said   map[string]*mcpclient.Definitions // what it said of its tools, by digest
	told   string                            // what tools were told to be like, to see whether they changed
	builds sync.Mutex
}

func (s *Set) newModule(c Config) *mod {
	m := &mod{set: s, cfg: c, name: c.label(s.opt.Workspace), key: c.key(), said: map[string]*mcpclient.Definitions{}}
	m.lang, _ = c.language()
	m.unusable = c.check()
	if m.unusable == nil {
		need := runtimes[m.lang]
		if _, err := s.opt.LookPath(need.program); err != nil {
			m.unusable = configError("the module %s needs %s, which is not installed on this machine; %s", m.name, need.program, need.install)
		}
	}
	if c.Disabled != "" {
		m.unusable = configError("the module %s is not used: %s", m.name, c.Disabled)
	}
	return m
}

func (m *mod) review() string { return "tongs module review " + m.name }

// snapshot is a module as it is at a moment.
type snapshot struct {
	*bundled
	record *record
	trust  bool // approvals count
}

func (s *snapshot) approved() bool { return s.trust && s.digest != "" && s.record.Digest == s.digest }

func (s *snapshot) status() tongs.Status {
	switch {
	case s.approved():
		return tongs.StatusReady
	case s.record.Digest != "" && s.trust:
		return tongs.StatusChanged
	}
	return tongs.StatusUnapproved
}

// record is what is kept of the module, read again where it changed.
func (m *mod) record() (*record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.load()
}

// load is record with the lock held.
func (m *mod) load() (*record, error) {
	at := stampOf(m.set.store.path(m.key))
	if m.rec != nil && at == m.recAt {
		return m.rec, nil
	}
	r, err := m.set.store.load(m.key)
	if err != nil {
		return nil, configError("%w", err)
	}
	m.rec, m.recAt = r, at
	return r, nil
}

// look returns the module as it is. Unless it must be, it is not bundled where nobody approved it yet: then there is no
// digest.
func (m *mod) look(must bool) (*snapshot, error) {
	if m.unusable != nil {
		return nil, m.unusable
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.load()
	if err != nil {
		return nil, err
	}
	s := &snapshot{record: r, trust: !m.set.opt.NoApprovals}
	switch {
	case m.now != nil && unchanged(m.now.inputs):
	case m.fault != nil && time.Since(m.since) < faultTime && stampOf(m.cfg.Module) == m.at:
		return nil, m.fault
	case m.kept(r):
		m.now = &bundled{digest: r.Digest, inputs: r.Inputs, program: r.Program, problems: r.Problems}
	case !must && r.Digest == "" && m.now == nil:
		s.bundled = &bundled{}
		return s, nil
	default:
		if err := m.bundle(r); err != nil {
			return nil, err
		}
	}
	s.bundled = m.now
	return s, nil
}

// kept reports whether what is kept of the module is what it is: then it need not be bundled again.
func (m *mod) kept(r *record) bool {
	if r.Digest == "" || r.Host != hostVersion() || !unchanged(r.Inputs) || !slices.Equal(r.Checked, m.cfg.Tools) || !m.set.intact(r.Program) {
		return false
	}
	return m.lang != golang || isFile(filepath.Join(m.set.opt.Programs, r.Program, goProgram))
}

// bundle makes the module anew. The lock is held.
func (m *mod) bundle(r *record) error {
	m.now = nil
	at := stampOf(m.cfg.Module)
	b, err := bundle(&m.cfg, m.name)
	if err != nil {
		m.fault, m.at, m.since = err, at, time.Now()
		return err
	}
	m.fault, m.now = nil, b
	if b.digest == r.Digest && r.Program != "" { // only looked at, or saved as it was
		if program, err := m.set.materialise(b, m.lang, m.name); err == nil {
			m.rec, _ = m.set.store.update(m.key, func(r *record) {
				if r.Digest == b.digest {
					r.Inputs, r.Program, r.Host = b.inputs, program, hostVersion()
					r.Checked, r.Problems = m.cfg.Tools, b.problems
				}
			})
		}
	}
	return nil
}

// content is what the module is made of.
func (m *mod) content(s *snapshot) (content, error) {
	if s.content != nil {
		return s.content, nil
	}
	return loadContent(filepath.Join(m.set.opt.Programs, s.program, "src"))
}

// show writes the module out for a person, or how it differs from what was approved.
func (m *mod) show(s *snapshot) (string, error) {
	c, err := m.content(s)
	if err != nil {
		return "", err
	}
	var before content
	if s.record.Digest != "" && s.record.Program != "" {
		if before, err = loadContent(filepath.Join(m.set.opt.Programs, s.record.Program, "src")); err != nil || before.digest() != s.record.Digest {
			before = nil
		}
	}
	return c.show(before), nil
}

// report is what a host says of the tools beyond MCP.
type report struct {
	// Tools say whether their calls need approval: "ask", "free", "function", or nothing.
	Tools map[string]string `json:"tools"`
	// Names are the names that tools give themselves, by those that they are exported under.
	Names map[string]string `json:"names"`
	// Problems say why an exposed name is no tool; Failed is why the module did not load.
	Problems map[string]string `json:"problems"`
	Failed   string            `json:"failed"`
}

func reportOf(d *mcpclient.Definitions) (r report) {
	if d != nil && json.Unmarshal([]byte(d.Instructions), &r) != nil {
		r.Failed = "its host said something that cannot be read"
	}
	return r
}

// definitions are what the module said of the tools that are exposed, nil where it was not asked yet.
func (m *mod) definitions(s *snapshot) *mcpclient.Definitions {
	if s.approved() && s.record.Definitions != nil && slices.Equal(s.record.Tools, m.cfg.Tools) {
		return s.record.Definitions
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.said[s.digest]
}

// definition is what a tool is like, nil where that is not known yet, and why it cannot be used.
func (s *snapshot) definition(m *mod, name string) (d *mcpclient.Definition, why string) {
	if why := s.problems[name]; why != "" {
		return nil, why
	}
	if s.digest == "" || !s.approved() {
		return nil, ""
	}
	defs := m.definitions(s)
	if defs == nil {
		return nil, ""
	}
	return find(defs, m.name, name)
}

// find returns a tool of what a module said, or why there is none.
func find(defs *mcpclient.Definitions, module, name string) (d *mcpclient.Definition, why string) {
	r := reportOf(defs)
	switch d = defs.Find(name); {
	case r.Failed != "":
		return nil, fmt.Sprintf("the module %s fails to load:\n%s", module, mcpclient.Readable(r.Failed, 4000))
	case r.Problems[name] != "":
		return nil, mcpclient.Readable(r.Problems[name], 1000)
	case d == nil:
		return nil, fmt.Sprintf("the module %s has no tool %s", module, name)
	case d.Broken != "":
		return nil, fmt.Sprintf("the tool %s of %s cannot be used: %s", name, module, d.Broken)
	}
	return d, ""
}

// remember keeps what a module said of its tools, the first time it says it: later it has to say the same.
func (m *mod) remember(s *snapshot, defs *mcpclient.Definitions) (*mcpclient.Definitions, error) {
	if known := m.definitions(s); known != nil {
		return known, nil
	}
	if reportOf(defs).Failed != "" {
		return defs, nil // it may load the next time
	}
	m.mu.Lock()
	m.said[s.digest] = defs
	m.mu.Unlock()
	if !s.approved() {
		return defs, nil
	}
	_, err := m.set.store.update(m.key, func(r *record) {
		if r.Digest == s.digest {
			r.Tools, r.Definitions = m.cfg.Tools, defs
		}
	})
	if err == nil {
		m.set.changed()
	}
	return defs, err
}

// refresh reports whether the tools are others than when they were last listed.
func (m *mod) refresh() bool {
	_, told := m.specs()
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := m.told != told
	m.told = told
	return changed
}

// materialise writes what runs below Programs, and returns the name of its directory.
func (s *Set) materialise(b *bundled, lang language, label string) (string, error) {
	if s.opt.Programs == "" {
		return "", configError("there is no place for copies of modules in this program")
	}
	if b.program != "" && s.intact(b.program) {
		return b.program, nil
	}
	c, err := b.hosted(lang, label)
	if err != nil {
		return "", err
	}
	name := strings.TrimPrefix(c.digest(), "sha256:")
	to := filepath.Join(s.opt.Programs, name)
	if !s.intact(name) {
		if err := os.MkdirAll(s.opt.Programs, 0o700); err != nil {
			return "", err
		}
		tmp, err := os.MkdirTemp(s.opt.Programs, ".new-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(tmp)
		if err := c.save(tmp); err != nil {
			return "", err
		}
		_ = os.RemoveAll(to) // what is there is not what it should be
		if err := os.Rename(tmp, to); err != nil && !s.intact(name) {
			return "", err
		}
	}
	b.program = name
	return name, nil
}

// intact reports whether a directory of programs holds what it was made with. It is read once.
func (s *Set) intact(name string) bool {
	if name == "" || s.opt.Programs == "" {
		return false
	}
	_, done := s.checked.Load(name)
	dir := filepath.Join(s.opt.Programs, name)
	if _, err := os.Stat(filepath.Join(dir, "host")); err != nil {
		return false
	}
	if done {
		return true
	}
	c, err := loadContent(dir)
	delete(c, goProgram)
	if err != nil || "sha256:"+name != c.digest() {
		return false
	}
	s.checked.Store(name, true)
	return true
}
