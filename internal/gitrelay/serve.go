package gitrelay

import (
	"io"
	"net/http"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// The services of a git server.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// serve answers one request of git to an HTTP remote. There are four: what a remote has, for either service, and the services
// themselves. Nothing else reaches a server, so that the user's credentials open nothing but repositories.
func (s *Session) serve(w http.ResponseWriter, r *http.Request, scheme string, target network.Target) {
	remote := Remote{Scheme: scheme, Target: target}
	service, err := remote.requested(r)
	if err == nil {
		err = s.reachable(remote)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	switch {
	case r.Method == http.MethodGet:
		err = s.httpRefs(w, r, remote, service)
	case service == uploadPack:
		err = s.httpFetch(w, r, remote)
	default:
		if err = s.httpPush(w, r, remote); err != nil { // who still sends when the connection closes does not read why
			_, _ = io.CopyN(io.Discard, r.Body, maxUnread)
		}
	}
	if err != nil {
		refuse(w, err)
	}
}

// maxUnread is how much of a refused push is read before the answer.
const maxUnread = 16 << 20

// requested takes the path of the remote and the service from a request.
func (r *Remote) requested(req *http.Request) (service string, err error) {
	path := req.URL.EscapedPath()
	other := tongs.Errorf(tongs.CodeNetworkError,
		"git in the sandbox can fetch from and push to servers with git's smart protocol only; %s %s is not a part of it", req.Method, plain(path))
	switch req.Method {
	case http.MethodGet:
		base, ok := strings.CutSuffix(path, "/info/refs")
		service, named := strings.CutPrefix(req.URL.RawQuery, "service=")
		if !ok || !named || service != uploadPack && service != receivePack {
			return "", other
		}
		r.Path = base
		return service, httpPath(base)
	case http.MethodPost:
		for _, service := range []string{uploadPack, receivePack} {
			if base, ok := strings.CutSuffix(path, "/"+service); ok && req.URL.RawQuery == "" {
				r.Path = base
				return service, httpPath(base)
			}
		}
	}
	return "", other
}

// reachable refuses a remote by how it is reached.
func (s *Session) reachable(r Remote) error {
	if s.call.Limited(r.Target.Name()) {
		return tongs.Errorf(tongs.CodeBlocked, "%s is limited to some methods of HTTP, and git needs more", r.Target.Name())
	}
	if r.Scheme == "http" && !r.Target.Special() && !s.call.Private(r.Target.Name()) {
		return tongs.Errorf(tongs.CodeNetworkError, "%s is not encrypted; use https, or name the host %s in a rule", r, r.Target.Name())
	}
	return nil
}

// httpRefs answers what a remote has.
func (s *Session) httpRefs(w http.ResponseWriter, r *http.Request, remote Remote, service string) error {
	if err := s.contact(r.Context(), remote, service); err != nil {
		return err
	}
	res, err := s.get(r, remote, service)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if location := res.Header.Get("Location"); res.StatusCode/100 == 3 && location != "" {
		// Git follows it by itself, and what it asks there is decided as any other request.
		w.Header().Set("Location", location)
		w.WriteHeader(res.StatusCode)
		return nil
	}
	if err := s.isGit(res, remote, "application/x-"+service+"-advertisement"); err != nil {
		return err
	}
	if service == receivePack {
		return s.pushRefs(w, res, remote)
	}
	pass(w, res)
	return nil
}

// httpFetch passes a fetch through.
func (s *Session) httpFetch(w http.ResponseWriter, r *http.Request, remote Remote) error {
	if err := s.contact(r.Context(), remote, uploadPack); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, remote.service(uploadPack), r.Body)
	if err != nil {
		return err
	}
	req.ContentLength = r.ContentLength
	copyHeaders(req.Header, r.Header, "Content-Encoding", "Git-Protocol")
	req.Header.Set("Content-Type", "application/x-"+uploadPack+"-request")
	req.Header.Set("Accept", "application/x-"+uploadPack+"-result")
	res, err := s.exchange(r, remote, req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := s.isGit(res, remote, "application/x-"+uploadPack+"-result"); err != nil {
		return err
	}
	pass(w, res)
	return nil
}

// service is the address of a service of an HTTP remote.
func (r Remote) service(name string) string { return r.url().String() + "/" + name }

func copyHeaders(to, from http.Header, names ...string) {
	for _, name := range names {
		if v := from.Get(name); v != "" {
			to.Set(name, v)
		}
	}
}

// pass hands the answer of a server to git, as it comes.
func pass(w http.ResponseWriter, res *http.Response) {
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(flushing{w, http.NewResponseController(w)}, res.Body)
}

// flushing passes on each piece at once, so that progress shows.
type flushing struct {
	w       io.Writer
	control *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}
