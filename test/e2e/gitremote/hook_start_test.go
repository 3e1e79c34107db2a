package gitremote

import (
	"encoding/json"
	"testing"

	"github.com/tongs-ai/tongs"
)

// Git waits for ever where its pre-push hook cannot start, with or without Tongs: it waits for any child then, and that is its
// own transfer, which waits for git. The time limit of the command ends both, nothing was sent, and the next push goes through.
func TestHookThatCannotStart(t *testing.T) {
	for _, kind := range []string{"https", "ssh"} {
		t.Run(kind, func(t *testing.T) {
			var x *site
			var bare string
			if kind == "ssh" {
				_, x, bare = clonedSSH(t)
			} else {
				x, bare = cloned(t, newServer(t), "shop.git")
			}
			args, err := json.Marshal(map[string]any{
				"command": "printf '#!/no/such/interpreter\\n' > pre-push; chmod +x pre-push; git commit -q --allow-empty -m x; git -c core.hooksPath=. push origin main",
				"timeout": 3,
			})
			must(t, err)
			res := x.sys.Call(t.Context(), &tongs.Call{Tool: "shell", Args: args, Session: "s"})
			has(t, "the output", res.Content, "cannot run pre-push")
			if got := git(t, bare, "log", "--format=%s", "main"); got != "first" || len(x.pushes()) != 0 {
				t.Errorf("the remote has %q", got)
			}
			x.sh("git commit -q --allow-empty -m y; git push -q origin main")
			if n := len(x.pushes()); n != 1 {
				t.Errorf("%d questions about the next push", n)
			}
		})
	}
}
