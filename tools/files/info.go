package files

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// PathInput are the arguments of file_info and file_exists.
type PathInput struct {
	Path string `json:"path" jsonschema:"Path in the workspace." alias:"file_path,file,filename"`
}

// InfoOutput is the value of file_info.
type InfoOutput struct {
	Path     string         `json:"path"`
	Type     tongs.FileType `json:"type" enum:"file,directory,symlink,other"`
	Size     int64          `json:"size"`
	Modified time.Time      `json:"modified"`
	Mode     string         `json:"mode" jsonschema:"Permissions, such as -rw-r--r--."`
	Links    uint64         `json:"links,omitempty" jsonschema:"Number of hard links."`
	Target   string         `json:"target,omitempty" jsonschema:"Where a symbolic link points."`
	RealPath string         `json:"realPath,omitempty" jsonschema:"The path that a link leads to."`
	Encoding string         `json:"encoding,omitempty" jsonschema:"Encoding of a text file, or binary."`
	Ending   string         `json:"lineEnding,omitempty" jsonschema:"lf, crlf, mixed or none."`
	Lines    *int64         `json:"lines,omitempty"`
	Kind     string         `json:"kind,omitempty" jsonschema:"What a binary file is."`
}

// Present describes the file, one fact a line.
func (o InfoOutput) Present(r *tongs.Result) {
	var b strings.Builder
	fact := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	fact("path", showName(o.Path))
	fact("type", string(o.Type))
	if o.Type == tongs.FileRegular {
		fact("size", exactSize(o.Size))
	}
	fact("modified", o.Modified.Format(time.RFC3339))
	fact("mode", o.Mode)
	fact("target", showName(o.Target))
	fact("real path", showName(o.RealPath))
	fact("encoding", o.Encoding)
	fact("line ends", o.Ending)
	if o.Lines != nil {
		fact("lines", fmt.Sprint(*o.Lines))
	}
	fact("kind", o.Kind)
	r.Title, r.Content = o.Path, strings.TrimSuffix(b.String(), "\n")
}

// exactSize is a size in a readable unit, with its bytes where those tell more.
func exactSize(n int64) string {
	size := text.Size(n)
	if strings.HasSuffix(size, "bytes") || strings.HasSuffix(size, "byte") {
		return size
	}
	return fmt.Sprintf("%s (%d bytes)", size, n)
}

// ExistsOutput is the value of file_exists.
type ExistsOutput struct {
	Path   string         `json:"path"`
	Exists bool           `json:"exists"`
	Type   tongs.FileType `json:"type,omitempty" jsonschema:"file, directory, symlink or other."`
}

// Present answers in a sentence.
func (o ExistsOutput) Present(r *tongs.Result) {
	r.Title, r.Content = o.Path, fmt.Sprintf("%s does not exist.", showName(o.Path))
	if o.Exists {
		r.Content = fmt.Sprintf("%s exists: %s.", showName(o.Path), o.Type)
	}
}

func (t *tools) infoTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[PathInput, InfoOutput]{
		Spec: tongs.Spec{
			Name: "file_info", Title: "File info", Toolset: Toolset,
			Description: "Describe a file, directory or link: type, size, time, mode, encoding.",
			Needs:       tongs.Read, Default: tongs.PreApproved,
			Hints: tongs.Hints{ReadOnly: true, Idempotent: true},
		},
		Plan: func(_ context.Context, v *tongs.View, in PathInput) (*tongs.Plan, error) {
			p, err := v.Files.ResolveEntry(in.Path)
			if err != nil {
				return nil, err
			}
			return planRead(v.Files, p, "Describe "+showPath(p)), nil
		},
		Run: t.info,
	})
}

func (t *tools) info(ctx context.Context, env *tongs.Env, in PathInput) (out InfoOutput, err error) {
	p, err := env.Files.ResolveEntry(in.Path)
	if err != nil {
		return out, err
	}
	info, err := env.Files.Stat(p)
	if err != nil {
		return out, withNear(ctx, env.Files, p, err)
	}
	out = InfoOutput{
		Path: p.String(), Type: info.Type, Size: info.Size, Modified: info.Modified.UTC(), Mode: info.Mode.String(),
		Links: info.Links, Target: info.Target,
	}
	switch {
	case info.Type == tongs.FileSymlink:
		// A link that leads outside or nowhere has no real path here.
		if real, err := env.Files.Resolve(in.Path); err == nil {
			out.RealPath = real.String()
		}
	case info.Type == tongs.FileRegular && info.Size <= maxHashed:
		err = out.content(ctx, env.Files, p)
	}
	return out, err
}

// content adds what only the content tells.
func (o *InfoOutput) content(ctx context.Context, v tongs.FileView, p tongs.Path) error {
	f, err := v.Open(p)
	if err != nil {
		if tongs.CodeOf(err) == tongs.CodePermissionDenied {
			return nil // it can be described, if not read
		}
		return err
	}
	defer f.Close()
	var d text.Detector
	if _, err := io.Copy(&d, contextReader{ctx, io.NewSectionReader(f, 0, maxHashed)}); err != nil {
		return fault(err)
	}
	format := d.Format()
	o.Encoding = string(format.Encoding)
	if format.Encoding == text.Binary {
		_, o.Kind = text.Describe(d.Head())
		return nil
	}
	lines := d.Lines()
	o.Ending, o.Lines = string(format.Ending), &lines
	return nil
}

func (t *tools) existsTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[PathInput, ExistsOutput]{
		Spec: tongs.Spec{
			Name: "file_exists", Title: "File exists", Toolset: Toolset,
			Description: "Say whether a file, directory or link exists.",
			Needs:       tongs.Read, Default: tongs.PreApproved,
			Hints: tongs.Hints{ReadOnly: true, Idempotent: true},
		},
		Plan: func(_ context.Context, v *tongs.View, in PathInput) (*tongs.Plan, error) {
			p, err := v.Files.ResolveEntry(in.Path)
			if tongs.CodeOf(err) == tongs.CodeFileNotFound {
				p, err = v.Dir, nil // a way through what does not exist leads nowhere: that is the answer
			}
			if err != nil {
				return nil, err
			}
			return readPlan(p, "Look whether "+showPath(p)+" exists"), nil
		},
		Run: func(_ context.Context, env *tongs.Env, in PathInput) (ExistsOutput, error) {
			out := ExistsOutput{Path: in.Path}
			p, err := env.Files.ResolveEntry(in.Path)
			if err == nil {
				out.Path = p.String()
				var info tongs.FileInfo
				if info, err = env.Files.Stat(p); err == nil {
					out.Exists, out.Type = true, info.Type
				}
			}
			if tongs.CodeOf(err) == tongs.CodeFileNotFound {
				err = nil
			}
			return out, err
		},
	})
}
