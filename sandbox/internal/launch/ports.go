package launch

// Question is what the host asks init about the sandbox's loopback interface.
type Question struct {
	ID uint64
	// Port is the port to connect to, of ::1 where Six is set. 0 asks which ports programs listen on.
	Port uint16
	Six  bool
}

// Encode returns the message as bytes.
func (q *Question) Encode() []byte {
	e := &encoder{}
	e.uint(q.ID)
	e.uint(uint64(q.Port))
	e.bool(q.Six)
	return e.b
}

// DecodeQuestion reads what Encode wrote.
func DecodeQuestion(b []byte) (*Question, error) {
	d := &decoder{b: b}
	q := &Question{ID: d.uint(), Port: uint16(d.uint()), Six: d.bool()}
	return q, d.done()
}

// Answer is init's. A socket that is being connected comes with it where one was asked for and there is no Error.
type Answer struct {
	ID    uint64
	Error string
	Ports []Port
}

// Port is one that a program listens on; Six says that it is one of ::1 only.
type Port struct {
	Number uint16
	Six    bool
}

// Encode returns the message as bytes.
func (a *Answer) Encode() []byte {
	e := &encoder{}
	e.uint(a.ID)
	e.str(a.Error)
	e.uint(uint64(len(a.Ports)))
	for _, p := range a.Ports {
		e.uint(uint64(p.Number))
		e.bool(p.Six)
	}
	return e.b
}

// DecodeAnswer reads what Encode wrote.
func DecodeAnswer(b []byte) (*Answer, error) {
	d := &decoder{b: b}
	a := &Answer{ID: d.uint(), Error: d.str()}
	a.Ports = list(d, func(d *decoder) Port { return Port{Number: uint16(d.uint()), Six: d.bool()} })
	return a, d.done()
}
