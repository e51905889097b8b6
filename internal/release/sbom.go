package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// product is the module of the binary.
const product = "github.com/rowrelay/rowrelay"

// writeSBOM writes the bill of materials of one platform's binary as CycloneDX 1.6. It has neither a serial number nor
// a time: two builds of one release have the same one.
func writeSBOM(w io.Writer, modules []module, platform, version string) error {
	main := cdx.Component{
		Type: cdx.ComponentTypeApplication, Name: "rowrelay", Version: version, BOMRef: purl(product, version),
		PackageURL: purl(product, version), Licenses: &cdx.Licenses{{Expression: "Apache-2.0"}},
		Properties: &[]cdx.Property{{Name: "rowrelay:platform", Value: platform}},
	}
	components := make([]cdx.Component, 0, len(modules))
	refs := make([]string, 0, len(modules))
	for i := range modules {
		m := &modules[i]
		name, v := m.path, m.version
		if name == standard {
			name = "std" // as the Go vulnerability database calls it; its version is that of the toolchain
			v = toolchain()
		}
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: name, Version: v, BOMRef: purl(name, v),
			PackageURL: purl(name, v)}
		if expression := m.spdx(); expression != "" {
			c.Licenses = &cdx.Licenses{{Expression: expression}}
		}
		// go.sum's hash is over the file list of the module, not over one file: CycloneDX has no field for that
		if m.sum != "" {
			c.Properties = &[]cdx.Property{{Name: "rowrelay:go.sum", Value: m.sum}}
		}
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	slices.Sort(refs)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	encoder := cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	if err := encoder.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return fmt.Errorf("writing the bill of materials: %w", err)
	}
	return nil
}

// purl is a package URL of the type golang: in names lower case, "+" escaped in versions.
func purl(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}
