// Azure Event Hubs Data Sender on single event hubs of a namespace that exists.
param namespace string
param principalId string
param eventHubs string[]

var sender = '2b629674-e913-4c01-ae53-ef4638d8f975'

resource hubs 'Microsoft.EventHub/namespaces@2024-01-01' existing = {
  name: namespace
}

resource hub 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' existing = [
  for h in eventHubs: {
    parent: hubs
    name: h
  }
]

resource onHub 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (h, i) in eventHubs: {
    name: guid(hubs.id, h, sender, principalId)
    scope: hub[i]
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', sender)
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]
