package terminal

import (
	"html"
	"os"
	"os/exec"
	"runtime"

	"github.com/tongs-ai/tongs/internal/owned"
)

// Browse opens a page in the browser of the person, which may be started by that, and goes on after us. The page is a URL
// that starts with a scheme.
func Browse(page string) error {
	cmd := browser(page)
	ownProcessGroup(cmd)
	return start(cmd)
}

// BrowseSecret opens a link that nobody else may see. Other users can see the arguments of processes, so the link stands
// in a page that only this one can read, and the browser is given the page.
func BrowseSecret(page, link string) error {
	text := "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><title>Tongs</title>" +
		"<meta http-equiv=\"refresh\" content=\"0; url=" + html.EscapeString(link) + "\">"
	if err := owned.Replace(page, []byte(text), 0o600); err != nil {
		return err
	}
	if custom := os.Getenv("BROWSER"); custom != "" && runtime.GOOS != "windows" {
		return start(exec.Command(custom, page))
	}
	return start(browser(page))
}

// browser is how this system opens a page.
func browser(page string) *exec.Cmd {
	switch runtime.GOOS {
	case "darwin":
		return exec.Command("open", page)
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", page)
	}
	return exec.Command("xdg-open", page)
}

func start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
