package console_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/console"
)

// A program that embeds an engine shows it in a browser. The hub hears of its calls while they run.
func ExampleNew() {
	hub, log := console.NewHub(), audit.NewMemory()
	questions := approval.NewMemory(approval.Options{})
	desk := &approval.Desk{Store: questions, Channels: []approval.Channel{hub.Channel()}}
	e, err := engine.New(engine.Options{Audit: log, Approval: desk, Observe: hub.Observe})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := console.New(console.Options{Engine: e, Audit: log, Questions: questions, Hub: hub})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	web := httptest.NewServer(c.Handler(nil))
	defer web.Close()
	res, err := http.Get(web.URL + "/healthz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(res.Body)
	link, _, _ := strings.Cut(c.Link(), "#") // what is behind it is the token
	fmt.Printf("%s%s\n", said, link)
	// Output:
	// ok
	// /login
}
