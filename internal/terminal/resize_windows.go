package terminal

// OnResize does nothing: there is no sandbox to resize on Windows.
func OnResize(func()) (stop func()) { return func() {} }
