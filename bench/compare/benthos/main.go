// Command benthos is Benthos 4.27 with the parts that stream.yaml needs. It is a module of its own, because it needs
// hundreds of others, and is compiled only by `make compare`.
package main

import (
	"context"

	_ "github.com/benthosdev/benthos/v4/public/components/io"
	_ "github.com/benthosdev/benthos/v4/public/components/pure"
	_ "github.com/benthosdev/benthos/v4/public/components/sql"
	"github.com/benthosdev/benthos/v4/public/service"
)

func main() {
	service.RunCLI(context.Background())
}
