//go:build unix

package files

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs"
)

// TestSpecialFilesNeverHang meets a FIFO that nobody writes to, and a socket.
func TestSpecialFilesNeverHang(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	b.Must(syscall.Mkfifo(filepath.Join(b.Dir, "fifo"), 0o644))
	b.Must(os.Symlink("fifo", filepath.Join(b.Dir, "link")))
	b.Must(os.Symlink("/dev/zero", filepath.Join(b.Dir, "zero")))
	for _, name := range []string{"fifo", "link"} {
		b.fails(tongs.CodeInvalidPath, "not a regular file", "read_file", args{"path": name})
		b.fails(tongs.CodeInvalidPath, "not a regular file", "write_file", args{"path": name, "content": "x"})
		b.fails(tongs.CodeInvalidPath, "not a regular file", "edit", args{"path": name, "oldString": "x", "newString": "y"})
	}
	b.fails(tongs.CodeInvalidPath, "", "read_file", args{"path": "zero"})
	b.Equal("type", value[InfoOutput](b, b.OK("file_info", args{"path": "fifo"})).Type, tongs.FileOther)
	b.Equal("type", value[ExistsOutput](b, b.OK("file_exists", args{"path": "fifo"})).Type, tongs.FileOther)
	b.Contains("list", b.OK("list_directory", args{}).Content, "fifo (special file)")
	b.OK("delete_file", args{"path": "link"})
	b.OK("move_file", args{"from": "fifo", "to": "pipe"})
	b.OK("delete_file", args{"path": "pipe"})
}

func TestListNamesThatAreNotUTF8(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("the file system of macOS refuses such names")
	}
	b := newBench(t, setup{nope: true})
	b.Put("bad\xff", "")
	b.Contains("list", b.OK("list_directory", args{"recursive": true}).Content, `bad\xff`)
}

func TestSocketIsDescribed(t *testing.T) {
	b := newBench(t, setup{nope: true})
	t.Chdir(b.Dir) // the address of a socket is short
	l, err := net.Listen("unix", "s")
	b.Must(err)
	defer l.Close()
	b.Equal("type", value[InfoOutput](b, b.OK("file_info", args{"path": "s"})).Type, tongs.FileOther)
}
