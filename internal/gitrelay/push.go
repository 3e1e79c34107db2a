package gitrelay

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// abilities are those of servers and clients that the relay understands in a push. Of the rest neither hears.
var abilities = []string{
	"report-status", "report-status-v2", "delete-refs", "quiet", "atomic", "ofs-delta", "side-band-64k", "push-options", "object-format", "agent",
}

// understood keeps the abilities that the relay understands.
func understood(list string) (kept []string) {
	for ability := range strings.FieldsSeq(list) {
		name, _, _ := strings.Cut(ability, "=")
		if slices.Contains(abilities, name) {
			kept = append(kept, ability)
		}
	}
	return kept
}

// advert is what a remote has, as it said so before a push.
type advert struct {
	refs  map[string]string
	lines []byte // as git is told
}

// maxAdvert bounds what a remote says about its references.
const maxAdvert = 64 << 20

// parseAdvert reads what a remote has. Packs that git sends shall be complete, since nothing else of the repository is here.
func parseAdvert(r io.Reader) (*advert, error) {
	lines, err := section(r, maxAdvert)
	if err != nil {
		return nil, err
	}
	a := &advert{refs: map[string]string{}}
	for i, line := range lines {
		text, list, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\x00")
		id, name, ok := strings.Cut(text, " ")
		if !ok || !objectID(id) {
			if strings.HasPrefix(text, "shallow ") && i > 0 {
				continue
			}
			return nil, errors.New("what the remote has cannot be read")
		}
		if name != ".have" && name != "capabilities^{}" {
			a.refs[name] = id
		}
		if i == 0 {
			text += "\x00" + strings.Join(append(understood(list), "no-thin"), " ")
		}
		a.lines = appendLine(a.lines, text+"\n")
	}
	a.lines = append(a.lines, flush...)
	return a, nil
}

// objectID reports whether s is the name of an object.
func objectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// zero reports whether the name stands for no object.
func zero(id string) bool { return strings.Trim(id, "0") == "" }

// pushRefs tells git what a remote has, before a push.
func (s *Session) pushRefs(w http.ResponseWriter, res *http.Response, remote Remote) error {
	if _, err := section(res.Body, maxLine); err != nil { // the name of the service
		return tongs.Errorf(tongs.CodeNetworkError, "%s: what the remote has cannot be read", remote)
	}
	a, err := parseAdvert(res.Body)
	if err != nil {
		return tongs.Errorf(tongs.CodeNetworkError, "%s: %w", remote, err)
	}
	s.advertised(remote, a)
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.Header().Set("Cache-Control", "no-cache")
	head := appendLine(nil, "# service="+receivePack+"\n")
	_, err = w.Write(append(append(head, flush...), a.lines...))
	return err
}

func (s *Session) advertised(remote Remote, a *advert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adverts[remote.same()] = a
}

// command is a change of one reference on a remote.
type command struct{ old, new, ref string }

// push is what git wants to send.
type push struct {
	remote   Remote
	commands []command
	// request is all that comes before the pack, as the server is sent it.
	request []byte
	options []string
	format  string
	// abilities are those of the client.
	abilities []string
	// dir is a private repository, and pack the file in it that has the objects; empty where none are sent.
	dir, pack string
	// undecided says that the workspace does not have all of it yet.
	undecided bool
}

const (
	maxCommands     = 1000
	maxCommandBytes = 1 << 20
)

// parsePush reads all that comes before the pack.
func parsePush(r io.Reader, remote Remote) (*push, error) {
	p := &push{remote: remote, format: "sha1"}
	lines, err := section(r, maxCommandBytes)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, line := range lines {
		text, given, first := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\x00")
		if first {
			list = understood(given)
		}
		if id, ok := strings.CutPrefix(text, "shallow "); ok && objectID(id) && !first {
			p.request = appendLine(p.request, text)
			continue
		}
		c, err := parseCommand(text)
		if err != nil {
			return nil, err
		}
		if p.commands = append(p.commands, c); len(p.commands) > maxCommands {
			return nil, tongs.Errorf(tongs.CodeTooLarge, "more than %d references in one push; push fewer at a time", maxCommands)
		}
		if len(p.commands) == 1 {
			text += "\x00 " + strings.Join(list, " ")
		}
		p.request = appendLine(p.request, text)
	}
	p.request, p.abilities = append(p.request, flush...), list
	if i := slices.IndexFunc(list, func(a string) bool { return strings.HasPrefix(a, "object-format=") }); i >= 0 {
		p.format = strings.TrimPrefix(list[i], "object-format=")
	}
	if slices.Contains(list, "push-options") && len(p.commands) > 0 {
		err = p.parseOptions(r)
	}
	return p, err
}

func parseCommand(text string) (command, error) {
	parts := strings.SplitN(text, " ", 3)
	if len(parts) != 3 || !objectID(parts[0]) || !objectID(parts[1]) || len(parts[0]) != len(parts[1]) {
		return command{}, tongs.Errorf(tongs.CodeInvalidArgs, "what git wants to push cannot be read: %s", plain(text))
	}
	c := command{parts[0], parts[1], parts[2]}
	if !validRef(c.ref) {
		return command{}, tongs.Errorf(tongs.CodeInvalidArgs, "%q is not the name of a branch, a tag or another reference", plain(c.ref))
	}
	return c, nil
}

// parseOptions reads what the server is told beside the references.
func (p *push) parseOptions(r io.Reader) error {
	lines, err := section(r, maxCommandBytes)
	if err != nil {
		return err
	}
	for _, line := range lines {
		text := strings.TrimSuffix(string(line), "\n")
		p.options = append(p.options, text)
		p.request = appendLine(p.request, text)
	}
	p.request = append(p.request, flush...)
	return nil
}

// validRef reports whether git takes the name of a reference.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || len(name) > maxPath || strings.ContainsAny(name, " ~^:?*[\\") ||
		strings.ContainsFunc(name, control) || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// deletes reports whether nothing is added: then there is no pack.
func (p *push) deletes() bool {
	return !slices.ContainsFunc(p.commands, func(c command) bool { return !zero(c.new) })
}

// receive keeps the pack of a push.
func (s *Session) receive(p *push, r io.Reader) error {
	if p.deletes() {
		return nil
	}
	p.pack = filepath.Join(p.dir, packPath)
	if err := os.MkdirAll(filepath.Dir(p.pack), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(p.pack, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(s.take(f, r), f.Close())
}

// packPath is where the pack of a push is in its private directory.
var packPath = filepath.Join("objects", "pack", "pack-in.pack")

// packStep is how much of a pack is taken before the bounds are looked at again.
const packStep = 16 << 20

// take copies a pack into its file, within the bounds of one push and of all.
func (s *Session) take(f *os.File, r io.Reader) error {
	for size := int64(0); ; {
		n, err := io.CopyN(f, r, min(packStep, s.opt.MaxPack-size+1))
		if size += n; size > s.opt.MaxPack {
			return tongs.Errorf(tongs.CodeTooLarge, "more than %d MiB in one push; push it in your own terminal", s.opt.MaxPack>>20)
		}
		if s.waiting() > s.opt.MaxPacks {
			return tongs.Errorf(tongs.CodeTooLarge, "more than %d MiB in the pushes that are under way; push again when others were answered", s.opt.MaxPacks>>20)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// waiting is how much all pushes take that are under way, in any process.
func (r *Relay) waiting() (sum int64) {
	packs, _ := filepath.Glob(filepath.Join(r.opt.Dir, scratchPrefix+"*", packPath))
	for _, pack := range packs {
		if info, err := os.Lstat(pack); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// httpPush decides a push and sends it.
func (s *Session) httpPush(w http.ResponseWriter, r *http.Request, remote Remote) error {
	if err := s.contact(r.Context(), remote, receivePack); err != nil {
		return err
	}
	if r.Header.Get("Content-Encoding") != "" {
		return tongs.Errorf(tongs.CodeInvalidArgs, "what git wants to push is compressed as a whole, which git does not do")
	}
	dir, remove, err := s.scratch()
	if err != nil {
		return err
	}
	defer remove()
	kind := "application/x-" + receivePack + "-result"
	p, err := s.decidePush(r.Context(), remote, dir, r.Body)
	if err != nil && p != nil {
		w.Header().Set("Content-Type", kind)
		_, err = w.Write(p.failure(err))
		return err
	}
	if err != nil {
		return err
	}
	if len(p.commands) == 0 { // git tries whether it may, with an empty request
		w.Header().Set("Content-Type", kind)
		return nil
	}
	body, size, err := p.body()
	if err != nil {
		return err
	}
	defer body.Close()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, remote.service(receivePack), body)
	if err != nil {
		return err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/x-"+receivePack+"-request")
	req.Header.Set("Accept", kind)
	s.call.Permit.Sent(p.summary())
	res, err := s.exchange(r, remote, req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := s.isGit(res, remote, kind); err != nil {
		return err
	}
	pass(w, res)
	return nil
}

// failure answers a push that is not made as a server does that refuses it: git shows the reason, and each reference as rejected.
func (p *push) failure(why error) []byte {
	report := appendLine(nil, "unpack ok\n")
	for _, c := range p.commands {
		report = appendLine(report, "ng "+c.ref+" refused by tongs\n")
	}
	report = append(report, flush...)
	if !slices.Contains(p.abilities, "report-status") && !slices.Contains(p.abilities, "report-status-v2") {
		report = nil
	}
	if !slices.Contains(p.abilities, "side-band-64k") {
		return report
	}
	answer := appendLine(nil, "\x02tongs: "+cleantext.Cut(sentence(why), maxSaid)+"\n")
	for part := range slices.Chunk(report, maxLine-100) {
		answer = appendLine(answer, "\x01"+string(part))
	}
	return append(answer, flush...)
}

// maxSaid bounds a sentence to git.
const maxSaid = 4000

// body is the push as the server is sent it.
func (p *push) body() (io.ReadCloser, int64, error) {
	head := int64(len(p.request))
	if p.pack == "" {
		return io.NopCloser(bytes.NewReader(p.request)), head, nil
	}
	f, err := os.Open(p.pack)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(p.request), f), f}, head + info.Size(), nil
}
