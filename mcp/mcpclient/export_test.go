package mcpclient

// Pinned is what is pinned of a server, as a person is shown it.
func Pinned(s *Set, server, dir string) (string, error) {
	h, err := s.find(server)
	if err != nil {
		return "", err
	}
	p, err := h.pin(dir)
	return p.made().render(), err
}

// ReadPackage reads a directory of an installed package.
func ReadPackage(dir string) error {
	p := Part{Role: rolePackage, Path: dir}
	return p.readTree(nil)
}
