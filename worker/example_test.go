package worker_test

import (
	"context"
	"fmt"

	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/script"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
)

// A worker runs over any engine; here its model plays a script.
func Example() {
	tools, _ := todo.Tools()
	e, _ := engine.New(engine.Options{Tools: tools})
	runner, _ := worker.New(worker.Options{
		Caller: e, Tools: e.Tools,
		Open: func(context.Context, string) (model.Model, error) {
			return script.Parse([]byte(`
turns:
  - calls: [{tool: todo_write, args: {items: [{content: Greet, status: completed}]}}]
  - {expect: "1 of 1|Greet", text: "Hello."}
`))
		},
		Events: func(ev worker.Event) {
			if ev.Type == worker.EventResult {
				fmt.Println(ev.Call.Tool, ev.Call.Title)
			}
		},
	})
	s, err := runner.Run(context.Background(), worker.Job{
		File:   &worker.File{Name: "greeter", Model: "script", Toolsets: []string{"todo"}, Instructions: "Greet people."},
		Prompt: "Greet me.",
	})
	fmt.Println(s.State, s.Answer, err)
	// Output:
	// todo_write 1 of 1 done
	// done Hello. <nil>
}
