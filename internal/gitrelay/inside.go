package gitrelay

import "github.com/tongs-ai/tongs"

// Inside is what a program needs for its git to use the relay.
type Inside struct {
	Env []string
	// Files exist in its sandbox only, by path.
	Files map[string]string
	// Shown are files of this machine that it must see.
	Shown []string
}

// Inside returns what a program needs.
func (r *Relay) Inside() (Inside, error) {
	a, err := r.authority()
	if err != nil {
		return Inside{}, tongs.Errorf(tongs.CodeInternal, "no certificate could be made for git: %w", err)
	}
	in := Inside{Env: []string{"GIT_SSL_CAINFO=" + CertificateFile}, Files: map[string]string{CertificateFile: a.pem}}
	ssh, err := r.standIn()
	if err != nil {
		return Inside{}, tongs.Errorf(tongs.CodeInternal, "there is nothing that git could run instead of ssh: %w", err)
	}
	if ssh.command != "" {
		in.Env = append(in.Env, "GIT_SSH_COMMAND="+ssh.command, "GIT_SSH_VARIANT=ssh")
		in.Shown = []string{ssh.program}
	}
	return in, nil
}
