package manual

// Examples returns the arguments of a call of each tool, as JSON.
func Examples() map[string]string {
	return map[string]string{
		"build_custom_tool":  `{"name": "word-count"}`,
		"create_custom_tool": `{"name": "word-count", "description": "Counts words", "parameters": [{"name": "path", "type": "string", "required": true}]}`,
		"delete_file":        `{"path": "build", "recursive": true}`,
		"edit":               `{"path": "main.go", "oldString": "Helo", "newString": "Hello"}`,
		"file_exists":        `{"path": "go.mod"}`,
		"file_info":          `{"path": "go.mod"}`,
		"format_code":        `{"check": true}`,
		"glob":               `{"pattern": "**/*.go", "limit": 20}`,
		"grep":               `{"pattern": "func \\w+Handler", "glob": "*.go", "context": 2}`,
		"http_request":       `{"url": "https://api.example.com/items/7", "method": "PUT", "json": {"done": true}}`,
		"install_package":    `{"packages": ["lodash"]}`,
		"list_directory":     `{"path": "src", "details": true}`,
		"move_file":          `{"from": "old.txt", "to": "docs/new.txt"}`,
		"read_file":          `{"path": "main.go", "offset": 40, "limit": 20}`,
		"redo":               `{}`,
		"run_code":           `{"language": "python", "code": "print(sum(range(10)))", "timeout": 10}`,
		"run_custom_tool":    `{"tool_name": "word-count", "arguments": {"path": "README.md"}}`,
		"run_tests":          `{}`,
		"search_code":        `{"query": "where are tokens checked"}`,
		"shell":              `{"command": "go test ./...", "timeout": 300}`,
		"shell_jobs":         `{"action": "list"}`,
		"sql_query":          `{"file": "app.db", "sql": "SELECT id, name FROM users WHERE name LIKE ?", "params": ["A%"]}`,
		"task":               `{"worker": "reviewer", "prompt": "Review the last commit."}`,
		"todo_read":          `{}`,
		"todo_write":         `{"items": [{"content": "Find the bug", "status": "in_progress", "activeForm": "Finding the bug"}]}`,
		"undo":               `{"since": "10m"}`,
		"web_fetch":          `{"url": "https://go.dev/doc/effective_go", "find": "defer"}`,
		"web_search":         `{"query": "go generics tutorial", "numResults": 3}`,
		"write_file":         `{"path": "notes/today.md", "content": "# Notes\n"}`,
	}
}
