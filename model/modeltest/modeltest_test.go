package modeltest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/model/modeltest"
)

// post sends a body with the key as the format wants it, and returns the status and what was said.
func post(t *testing.T, s *modeltest.Server, key, body string) (int, string) {
	t.Helper()
	paths := map[modeltest.Format]string{
		modeltest.Anthropic: "/v1/messages", modeltest.Chat: "/v1/chat/completions", modeltest.Responses: "/v1/responses",
		modeltest.Gemini: "/v1beta/models/gemini-3-test:streamGenerateContent?alt=sse",
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+paths[s.Format], strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}, "Authorization": {"Bearer " + key}, "X-Goog-Api-Key": {key},
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(said)
}

const (
	anthropicHead = `{"model":"m","max_tokens":9,"stream":true,`
	chatHead      = `{"model":"m","stream":true,"stream_options":{"include_usage":true},`
	responsesHead = `{"model":"m","stream":true,"store":false,`
)

// The servers refuse what the services refuse; otherwise a test over them would prove little.
func TestServersAreStrict(t *testing.T) {
	ok := map[modeltest.Format]string{
		modeltest.Anthropic: anthropicHead + `"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
		modeltest.Chat:      chatHead + `"messages":[{"role":"user","content":"x"}]}`,
		modeltest.Responses: responsesHead + `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`,
		modeltest.Gemini:    `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`,
	}
	bad := map[modeltest.Format]map[string]string{
		modeltest.Anthropic: {
			"unknown field":   anthropicHead + `"tool_choise":1,"messages":[]}`,
			"no messages":     anthropicHead + `"messages":[]}`,
			"wrong order":     anthropicHead + `"messages":[{"role":"assistant","content":[{"type":"text","text":"x"}]}]}`,
			"empty text":      anthropicHead + `"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`,
			"no result":       anthropicHead + `"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
			"a stray result":  anthropicHead + `"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`,
			"forged thinking": anthropicHead + `"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"}]},{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
			"top alternative": anthropicHead + `"tools":[{"name":"f","input_schema":{"type":"object","anyOf":[]}}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
			"a long name":     anthropicHead + `"tools":[{"name":"` + strings.Repeat("x", 65) + `","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
		},
		modeltest.Chat: {
			"no messages":         chatHead + `"messages":[]}`,
			"no result":           chatHead + `"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"x"}]}`,
			"a result of no call": chatHead + `"messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`,
			"no JSON":             chatHead + `"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]},{"role":"tool","tool_call_id":"a","content":"x"}]}`,
			"not strict":          chatHead + `"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}}}],"messages":[{"role":"user","content":"x"}]}`,
			"default in strict":   chatHead + `"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"],"additionalProperties":false}}}],"messages":[{"role":"user","content":"x"}]}`,
			"an odd image":        chatHead + `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/x.png"}}]}]}`,
		},
		modeltest.Responses: {
			"stored":         `{"model":"m","stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`,
			"no output":      responsesHead + `"input":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`,
			"no call":        responsesHead + `"input":[{"type":"function_call_output","call_id":"a","output":"x"}]}`,
			"lone reasoning": responsesHead + `"input":[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"encrypted x"}]}`,
			"wrong content":  responsesHead + `"input":[{"type":"message","role":"user","content":[{"type":"output_text","text":"x"}]}]}`,
		},
		modeltest.Gemini: {
			"no contents":     `{"contents":[]}`,
			"no signature":    `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}]}`,
			"too few answers": `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"f"},"thoughtSignature":"eA=="},{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}]}`,
			"small types":     `{"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"STRING"}}}}]}],"contents":[{"role":"user","parts":[{"text":"x"}]}]}`,
			"a word too many": `{"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","additionalProperties":false,"properties":{"a":{"type":"STRING"}}}}]}],"contents":[{"role":"user","parts":[{"text":"x"}]}]}`,
			"no items":        `{"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"ARRAY"}}}}]}],"contents":[{"role":"user","parts":[{"text":"x"}]}]}`,
		},
	}
	for _, f := range modeltest.Formats {
		s := modeltest.ServeScript(t, f, `turns: [{text: fine}]`).Lenient()
		if status, said := post(t, s, modeltest.Key, ok[f]); status != 200 || !strings.Contains(said, "fine") {
			t.Errorf("%s: a right request is answered %d: %s", f, status, said)
		}
		if status, _ := post(t, s, "other", ok[f]); status != 401 {
			t.Errorf("%s: a wrong key is answered %d", f, status)
		}
		for name, body := range bad[f] {
			if status, said := post(t, s, modeltest.Key, body); status != 400 {
				t.Errorf("%s: %s is answered %d: %s", f, name, status, said)
			}
		}
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%s: %d requests were accepted", f, n)
		}
	}
}

func ExampleServer_Env() {
	s := &modeltest.Server{URL: "http://127.0.0.1:4000", Format: modeltest.Responses}
	fmt.Println(s.Spec(), s.Env()[1])
	// Output: openai-responses:test-model OPENAI_BASE_URL=http://127.0.0.1:4000/v1
}
