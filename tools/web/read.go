package web

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

const acceptEncoding = "gzip, br, zstd"

// read returns the body of a response, unpacked. It is bounded by what the header says, as it comes, and unpacked.
func (s *set) read(res *http.Response) ([]byte, error) {
	return readBody(res, s.opt.Bytes)
}

func readBody(res *http.Response, limit int64) ([]byte, error) {
	if res.ContentLength > limit {
		return nil, tooLarge(res.ContentLength, limit)
	}
	packed := &counting{r: res.Body, left: limit + 1}
	unpacked, closing, err := unpack(packed, res.Header.Values("Content-Encoding"))
	if err == io.EOF && packed.left == limit+1 {
		return nil, nil // an empty body is not packed, whatever its header says
	}
	if err != nil {
		return nil, bodyError(err, packed, limit)
	}
	defer closing()
	data, err := io.ReadAll(io.LimitReader(unpacked, limit+1))
	switch {
	case int64(len(data)) > limit:
		return nil, tooLarge(-1, limit)
	case err != nil:
		return nil, bodyError(err, packed, limit)
	}
	return data, nil
}

func tooLarge(size, limit int64) error {
	said := "more than " + text.Size(limit)
	if size >= 0 {
		said = text.Size(size) + ", more than the " + text.Size(limit) + " that are read"
	}
	return tongs.Errorf(tongs.CodeTooLarge, "the answer is %s; ask for a part of it, or raise webBytes", said)
}

// bodyError says why a body could not be read.
func bodyError(err error, packed *counting, limit int64) error {
	if packed.left <= 0 {
		return tooLarge(-1, limit)
	}
	if told, ok := errors.AsType[*tongs.Error](err); ok {
		return told
	}
	if packed.err != nil && packed.err != io.EOF {
		return packed.err
	}
	return tongs.Errorf(tongs.CodeNetworkError, "the answer cannot be unpacked: %w; it may have been cut off", err)
}

// counting bounds what is read, and remembers how reading failed.
type counting struct {
	r    io.Reader
	left int64
	err  error
}

func (c *counting) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.ErrShortBuffer
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

// maxEncodings is how often a body may be packed.
const maxEncodings = 2

// unpack undoes the encodings of a body, the last one first.
func unpack(r io.Reader, headers []string) (_ io.Reader, closing func(), err error) {
	var names []string
	for _, header := range headers {
		for name := range strings.SplitSeq(header, ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
				names = append(names, name)
			}
		}
	}
	if len(names) > maxEncodings {
		return nil, nil, tongs.Errorf(tongs.CodeNetworkError, "the answer is packed %d times over, which no honest server does",
			len(names))
	}
	closing = func() {}
	for i := len(names) - 1; i >= 0; i-- {
		switch names[i] {
		case "gzip", "x-gzip":
			r, err = gzip.NewReader(r)
		case "br":
			r = brotli.NewReader(r)
		case "zstd":
			var d *zstd.Decoder
			d, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderMaxWindow(8<<20))
			if err == nil {
				r, closing = d, d.Close
			}
		case "deflate":
			r, err = inflate(r)
		default:
			return nil, nil, tongs.Errorf(tongs.CodeNetworkError, "the answer is packed as %q, which is not known here", short(names[i]))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return r, closing, nil
}

// inflate reads "deflate", which servers write with and without the wrapping of zlib.
func inflate(r io.Reader) (io.Reader, error) {
	var head [2]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil {
		return nil, err
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), r)
	if head[0]&0x0f == 8 && (uint16(head[0])<<8|uint16(head[1]))%31 == 0 {
		return zlib.NewReader(whole)
	}
	return flate.NewReader(whole), nil
}
