module github.com/rowrelay/rowrelay/internal/release

go 1.26.0

require github.com/google/licensecheck v0.3.1

require github.com/CycloneDX/cyclonedx-go v0.9.2
