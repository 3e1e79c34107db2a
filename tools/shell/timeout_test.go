package shell

import (
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

// What a call may ask for is what the program that made the tools allows, and the schema says so.
func TestTimeoutsAreOptions(t *testing.T) {
	b := newBench(t, setup{Options: Options{Timeout: time.Second, MaxTimeout: 7 * time.Second}})
	input := b.set.Tools()[0].Spec().Input.Properties["timeout"]
	b.Contains("description", input.Description, "killed; default 1,")
	b.Equal("maximum", *input.Maximum, 7.0)
	b.fails(tongs.CodeTimeout, "longer timeout (7 at most)", "shell", args{"command": "sleep 100"})
	b.fails(tongs.CodeInvalidArgs, "timeout", "shell", args{"command": "true", "timeout": 8})

	set, err := New(Options{Timeout: 20 * time.Minute})
	b.Must(err)
	b.Equal("the most follows", *set.Tools()[0].Spec().Input.Properties["timeout"].Maximum, 1200.0)
}
