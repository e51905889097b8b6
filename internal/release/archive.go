package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// toolchain is the Go version that runs this, which is the one that built the binaries: scripts/release.sh pins it.
func toolchain() string { return strings.TrimPrefix(runtime.Version(), "go") }

// archive packs dir, under its own name, into target. The bytes depend on nothing but names, contents, which files may
// be executed, and the time: files come in the order of their names, belong to nobody, and have the time epoch (Unix
// seconds).
func archive(target, dir, epoch string) (err error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is not a number of seconds: set it to the time of the commit (git log -1 --format=%%ct)")
	}
	file, err := os.Create(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p := packer{prefix: filepath.Base(dir), at: time.Unix(seconds, 0).UTC()}
	if strings.HasSuffix(target, ".zip") {
		return p.zip(file, dir)
	}
	return p.tarGz(file, dir)
}

type packer struct {
	prefix string
	at     time.Time
}

// walk calls add for each file, in the order of names.
func (p *packer) walk(dir string, add func(name string, mode fs.FileMode, size int64, content io.Reader) error) error {
	return filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		relative, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		content, err := os.Open(file)
		if err != nil {
			return err
		}
		return errors.Join(add(path.Join(p.prefix, filepath.ToSlash(relative)), mode, info.Size(), content), content.Close())
	})
}

func (p *packer) tarGz(w io.Writer, dir string) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(packed)
	err = p.walk(dir, func(name string, mode fs.FileMode, size int64, content io.Reader) error {
		header := &tar.Header{Name: name, Mode: int64(mode), Size: size, ModTime: p.at, Format: tar.FormatPAX}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.Copy(t, content)
		return err
	})
	return errors.Join(err, t.Close(), packed.Close())
}

func (p *packer) zip(w io.Writer, dir string) error {
	z := zip.NewWriter(w)
	err := p.walk(dir, func(name string, mode fs.FileMode, _ int64, content io.Reader) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: p.at}
		header.SetMode(mode)
		entry, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		_, err = io.Copy(entry, content)
		return err
	})
	return errors.Join(err, z.Close())
}
