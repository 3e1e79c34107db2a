package main

// onResize does nothing: there is no sandbox to resize on Windows.
func onResize(func()) (stop func()) { return func() {} }
