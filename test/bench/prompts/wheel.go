package main

import (
	"archive/zip"
	"bytes"
)

// wheel is a package of Python.
func wheel() []byte {
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	for _, f := range [][2]string{
		{"tinymath.py", "def double(n):\n    return 2 * n\n"},
		{"tinymath-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinymath\nVersion: 1.0\n"},
		{"tinymath-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"tinymath-1.0.dist-info/RECORD", "tinymath.py,,\ntinymath-1.0.dist-info/METADATA,,\ntinymath-1.0.dist-info/WHEEL,,\ntinymath-1.0.dist-info/RECORD,,\n"},
	} {
		w, err := zw.Create(f[0])
		if err == nil {
			_, _ = w.Write([]byte(f[1]))
		}
	}
	_ = zw.Close()
	return b.Bytes()
}
