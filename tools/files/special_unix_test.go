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
	b.must(syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o644))
	b.must(os.Symlink("fifo", filepath.Join(b.dir, "link")))
	b.must(os.Symlink("/dev/zero", filepath.Join(b.dir, "zero")))
	for _, name := range []string{"fifo", "link"} {
		b.fails(tongs.CodeInvalidPath, "not a regular file", "read_file", args{"path": name})
		b.fails(tongs.CodeInvalidPath, "not a regular file", "write_file", args{"path": name, "content": "x"})
		b.fails(tongs.CodeInvalidPath, "not a regular file", "edit", args{"path": name, "oldString": "x", "newString": "y"})
	}
	b.fails(tongs.CodeInvalidPath, "", "read_file", args{"path": "zero"})
	b.equal("type", value[InfoOutput](b, b.ok("file_info", args{"path": "fifo"})).Type, tongs.FileOther)
	b.equal("type", value[ExistsOutput](b, b.ok("file_exists", args{"path": "fifo"})).Type, tongs.FileOther)
	b.contains("list", b.ok("list_directory", args{}).Content, "fifo (special file)")
	b.ok("delete_file", args{"path": "link"})
	b.ok("move_file", args{"from": "fifo", "to": "pipe"})
	b.ok("delete_file", args{"path": "pipe"})
}

func TestListNamesThatAreNotUTF8(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("the file system of macOS refuses such names")
	}
	b := newBench(t, setup{nope: true})
	b.put("bad\xff", "")
	b.contains("list", b.ok("list_directory", args{"recursive": true}).Content, `bad\xff`)
}

func TestSocketIsDescribed(t *testing.T) {
	b := newBench(t, setup{nope: true})
	t.Chdir(b.dir) // the address of a socket is short
	l, err := net.Listen("unix", "s")
	b.must(err)
	defer l.Close()
	b.equal("type", value[InfoOutput](b, b.ok("file_info", args{"path": "s"})).Type, tongs.FileOther)
}
