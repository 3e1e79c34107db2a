package files

import (
	"testing"

	"github.com/tongs-ai/tongs/tools/tooltest"
)

func TestConformance(t *testing.T) {
	tools, err := Tools(Options{})
	if err != nil {
		t.Fatal(err)
	}
	valid := map[string][]string{
		"read_file":      {`{"path":"a.txt"}`, `{"path":"dir/b","offset":-1,"limit":1}`, `{"path":"a.txt","encoding":"base64"}`},
		"write_file":     {`{"path":"new/file","content":"x"}`, `{"path":"a.txt","content":"y\n"}`, `{"path":"a.txt","content":"one\ntwo\n"}`},
		"edit":           {`{"path":"a.txt","oldString":"one","newString":"1"}`, `{"path":"a.txt","edits":[{"oldString":"one","newString":"1"},{"oldString":"two","newString":"2"}]}`},
		"list_directory": {`{}`, `{"path":"dir","recursive":true,"includeHidden":true,"limit":1}`},
		"delete_file":    {`{"path":"a.txt"}`, `{"path":"dir","recursive":true}`},
		"move_file":      {`{"from":"a.txt","to":"c/d"}`, `{"from":"a.txt","to":"dir/b","overwrite":true}`},
		"file_info":      {`{"path":"a.txt"}`, `{"path":"dir"}`},
		"file_exists":    {`{"path":"a.txt"}`, `{"path":"nope"}`},
	}
	for _, tool := range tools {
		t.Run(tool.Spec().Name, func(t *testing.T) {
			tooltest.Run(t, tool, tooltest.Options{
				Valid: valid[tool.Spec().Name], Files: map[string]string{"a.txt": "one\ntwo\n", "dir/b": "b\n", "dir/sub/c": ""},
			})
		})
	}
	tooltest.Snapshot(t, "testdata/specs", tools...)
}
