// Command release makes what a release has beside its binaries: the list of licences and their texts, the bill of
// materials, and the archives. scripts/release.sh, scripts/licences.sh and scripts/sbom.sh call it. It is a module of
// its own, so that what it needs is no dependency of the product.
//
//	go run . licences [-check]                 write docs/licences.md, or fail when it is not current
//	go run . texts                             print the texts of all licences and notices, which binaries must be shipped with
//	go run . sbom -platform OS/ARCH -version V print a CycloneDX bill of materials of one binary
//	go run . archive -o FILE DIR               pack a directory into a .tar.gz or .zip; SOURCE_DATE_EPOCH is the time of all files
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what: licences, texts, sbom or archive")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	root := flags.String("root", "../..", "directory of the product's go.mod")
	check := flags.Bool("check", false, "licences: only compare")
	platform := flags.String("platform", "linux/amd64", "sbom: GOOS/GOARCH")
	version := flags.String("version", "dev", "sbom: version of the release")
	target := flags.String("o", "", "archive: file to write, .tar.gz or .zip")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "archive":
		if flags.NArg() != 1 || *target == "" {
			return errors.New("archive needs -o FILE and one directory")
		}
		return archive(*target, flags.Arg(0), os.Getenv("SOURCE_DATE_EPOCH"))
	case "licences", "texts":
		modules, err := listModules(ctx, *root, platforms)
		if err != nil {
			return err
		}
		if err := refuseUnknown(modules); err != nil {
			return err
		}
		if args[0] == "texts" {
			return writeTexts(out, modules)
		}
		return keepList(filepath.Join(*root, "docs", "licences.md"), listOf(modules), *check)
	case "sbom":
		modules, err := listModules(ctx, *root, []string{*platform})
		if err != nil {
			return err
		}
		return writeSBOM(out, modules, *platform, *version)
	default:
		return fmt.Errorf("%q is not licences, texts, sbom or archive", args[0])
	}
}

// keepList writes the list, or fails where the file is another.
func keepList(path string, want []byte, check bool) error {
	if !check {
		return os.WriteFile(path, want, 0o644)
	}
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if string(have) != string(want) {
		return fmt.Errorf("%s is not what the modules of the binary ask for: run make licences", path)
	}
	return nil
}
