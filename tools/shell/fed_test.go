package shell

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// A command in a job that reads takes what is written next away from the shell, so that it is not decided as if the shell
// read it: here the shell would run touch, and : is all that stands there.
func TestJobsThatReadWhatIsWrittenNext(t *testing.T) {
	approve := true
	b := newBench(t, setup{
		Options: Options{Background: true}, answer: func(approval.Question) approval.Answer { return approval.Answer{Approved: approve} },
	})
	out := b.sh("bash", args{"background": true})
	approve = false
	first := b.Call("shell_jobs", args{"action": "write", "id": out.Job, "input": "read y\n"})
	b.Equal("reading", first.OK(), true)
	b.fails(tongs.CodeDenied, "declined", "shell_jobs", args{"action": "write", "id": out.Job, "input": ": '\ntouch made\n: '\n", "eof": true})
	b.Equal("made", b.Exists("made"), false)
}

// What the call gives as standard input is read by the first that reads, not by whom the text puts it next to.
func TestInputOfTheCallIsNotTheTextBesideIt(t *testing.T) {
	b := newBench(t, setup{answer: func(approval.Question) approval.Answer { return approval.Answer{} }})
	for command, stdin := range map[string]string{
		": $(bash) <<< ':'": "touch made\n",
		"bash":              "read y\n: '\ntouch made\n: '\n",
	} {
		b.fails(tongs.CodeDenied, "declined", "shell", args{"command": command, "stdin": stdin})
		b.Equal("made", b.Exists("made"), false)
	}
}
