// Roles of one identity on a storage account: on all of it, on single containers, on single queues.
param account string
param principalId string
param accountRoles string[]
param containerGrants containerGrant[]
param queueGrants queueGrant[]

type containerGrant = {
  container: string
  role: string
}

type queueGrant = {
  queue: string
  role: string
}

resource storage 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: account
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' existing = {
  parent: storage
  name: 'default'
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' existing = {
  parent: storage
  name: 'default'
}

resource onAccount 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in accountRoles: {
    name: guid(storage.id, role, principalId)
    scope: storage
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' existing = [
  for grant in containerGrants: {
    parent: blobs
    name: grant.container
  }
]

resource onContainer 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (grant, i) in containerGrants: {
    name: guid(storage.id, grant.container, grant.role, principalId)
    scope: container[i]
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]

resource queue 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' existing = [
  for grant in queueGrants: {
    parent: queueService
    name: grant.queue
  }
]

resource onQueue 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (grant, i) in queueGrants: {
    name: guid(storage.id, 'queue', grant.queue, grant.role, principalId)
    scope: queue[i]
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', grant.role)
      principalId: principalId
      principalType: 'ServicePrincipal'
    }
  }
]
