//go:build linux || darwin

package workspace

// backends are the ways to reach directories that this system can run: its own, element by element where the kernel
// refuses openat2, and os.Root as on other systems.
func backends() map[string]func(string) (handle, error) {
	return map[string]func(string) (handle, error){
		"native": openHandle,
		"elements": func(host string) (handle, error) {
			h, err := openHandle(host)
			if d, ok := h.(*unixDir); ok {
				d.beneath = nil
			}
			return h, err
		},
		"root": openRootHandle,
	}
}
