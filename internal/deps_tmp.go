package internal
import (
 _ "github.com/rabbitmq/amqp091-go"
 _ "github.com/twmb/franz-go/pkg/kgo"
 _ "github.com/twmb/franz-go/pkg/sasl/plain"
 _ "github.com/twmb/franz-go/pkg/sasl/oauth"
 _ "github.com/twmb/franz-go/pkg/sasl/scram"
 _ "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
 _ "github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)
