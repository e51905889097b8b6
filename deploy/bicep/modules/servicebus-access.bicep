// Azure Service Bus Data Sender on single queues and topics of a namespace that exists.
param namespace string
param principalId string
param queues string[]
param topics string[]

var sender = '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39'

resource bus 'Microsoft.ServiceBus/namespaces@2024-01-01' existing = {
  name: namespace
}

resource queue 'Microsoft.ServiceBus/namespaces/queues@2024-01-01' existing = [
  for q in queues: {
    parent: bus
    name: q
  }
]

resource topic 'Microsoft.ServiceBus/namespaces/topics@2024-01-01' existing = [
  for t in topics: {
    parent: bus
    name: t
  }
]

resource onQueue 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (q, i) in queues: {
    name: guid(bus.id, 'queue', q, sender, principalId)
    scope: queue[i]
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', sender)
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]

resource onTopic 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (t, i) in topics: {
    name: guid(bus.id, 'topic', t, sender, principalId)
    scope: topic[i]
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', sender)
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]
