package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

func openConsole() (in, out *os.File, err error) {
	if in, err = os.OpenFile("CONIN$", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	if out, err = os.OpenFile("CONOUT$", os.O_RDWR, 0); err != nil {
		_ = in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

func foreground(*os.File) bool { return true }

// flushInput throws away what was typed and not read yet.
func flushInput(tty *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(tty.Fd())) }
