// Rowrelay on Azure Functions, in one resource group: the function app with its plan, identity, storage, state and monitoring,
// and the rights that it needs, no more. deploy/README.md says how to use it. No key or password is made or stored: everything
// is reached by one user-assigned identity.
targetScope = 'resourceGroup'

@description('The name of the function app. It is part of its address, so it must be free in all of Azure.')
@minLength(2)
@maxLength(43)
param name string

param location string = resourceGroup().location
param tags object = {}

@description('flex (the one to choose), premium, dedicated or consumption. Linux Consumption retires on 2028-09-30.')
@allowed(['flex', 'premium', 'dedicated', 'consumption'])
param plan string = 'flex'

@description('The plan\'s size where there is a choice: premium EP1 (default), EP2, EP3; dedicated P0v3 (default), B1, P1v3 and so on.')
param planSize string = ''

@description('Flex: the memory of an instance.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int = 512

@description('Flex: the most instances. A poller has one owner, whatever this is; outboxes with fan-out use more.')
@minValue(1)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Flex: instances that are always there. http is the group of HTTP functions; a timer is on its own, as function:<poller>.')
param alwaysReady alwaysReadyGroup[] = []

@description('Three copies in three zones, or in one where the region has no zones. No copy in another region: after a failover it would be older.')
@allowed(['Standard_ZRS', 'Standard_LRS'])
param storageSku string = 'Standard_ZRS'

@description('A subnet, for databases behind private endpoints: delegated to Microsoft.App/environments for flex, to Microsoft.Web/serverFarms for premium and dedicated. Not on the consumption plan.')
param subnetId string = ''

@description('Part of the names of the state documents. Keep it for as long as the pollers are to go on where they were.')
param stateAppName string = name

@description('The pollers: app settings as docs/settings.md lists them, and <POLLER>_SCHEDULE for each.')
param appSettings object

@description('Settings whose values are secrets: the name of each setting, and the name of its secret in the key vault.')
param vaultReferences object = {}

@description('Azure SQL databases, reached by identity: source__connection is the name. deploy/sql grants the rights.')
param sqlConnections sqlConnection[] = []

@description('Storage queues to create and send to, by outputs or dead_letter__kind=queue: their connection is RowrelayQueues.')
param queues string[] = []

@description('The queue of source__fanout_queue; source__fanout_connection is RowrelayQueues.')
param fanoutQueue string = ''

@description('A Service Bus namespace to send to, through the connection RowrelayServiceBus, and what of it.')
param serviceBusNamespace string = ''
param serviceBusResourceGroup string = resourceGroup().name
param serviceBusQueues string[] = []
param serviceBusTopics string[] = []

@description('An Event Hubs namespace to send to, through the connection RowrelayEventHubs, and what of it.')
param eventHubsNamespace string = ''
param eventHubsResourceGroup string = resourceGroup().name
param eventHubs string[] = []

@description('false lets a deleted key vault be purged, for environments that come and go. It cannot be taken back once it is true.')
param purgeProtection bool = true

type alwaysReadyGroup = {
  name: string
  instanceCount: int
}

type sqlConnection = {
  name: string
  server: string
  database: string
}

var token = uniqueString(resourceGroup().id, name)
var vaultName = 'kv-rr-${token}'
var stateContainer = 'db-state'
var packageContainer = 'packages'
var poisonQueue = '${fanoutQueue}-poison'
var fanoutQueues = empty(fanoutQueue) ? [] : [fanoutQueue, poisonQueue]
var usesQueues = !empty(queues) || !empty(fanoutQueue)

// Built-in roles.
var blobDataOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
var blobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var queueSender = 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a'
var queueProcessor = '8a0f0c08-91a1-4084-bc3d-661d67233fed'
var queueReader = '19e7f393-937e-4f77-808e-94535e297925'

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-${name}'
  location: location
  tags: tags
}

// Two accounts: the host's right to its own account is wide (it makes containers, takes leases, keeps keys), and the state of
// the pollers must be out of its reach, and of everybody's who may publish code.
module hostStorage 'modules/storage.bicep' = {
  name: 'host-storage'
  params: {
    name: 'strr${token}'
    location: location
    tags: tags
    sku: storageSku
    containers: [packageContainer]
    queues: []
  }
}

module stateStorage 'modules/storage.bicep' = {
  name: 'state-storage'
  params: {
    name: 'strrs${token}'
    location: location
    tags: tags
    sku: storageSku
    containers: [stateContainer]
    queues: concat(queues, fanoutQueues)
  }
}

// Storage Blob Data Owner is what the host documents for AzureWebJobsStorage; it covers reading the package, too.
module hostAccess 'modules/storage-access.bicep' = {
  name: 'host-access'
  params: {
    account: hostStorage.outputs.name
    principalId: identity.properties.principalId
    accountRoles: [blobDataOwner]
    containerGrants: []
    queueGrants: []
  }
}

// Who takes messages from a queue (the host, for the partitions of a fan-out) also looks at its length to scale, and puts what
// failed into the poison queue.
var sendingGrants = map(queues, q => { queue: q, role: queueSender })
var fanoutGrants = empty(fanoutQueue)
  ? []
  : [
      { queue: fanoutQueue, role: queueSender }
      { queue: fanoutQueue, role: queueProcessor }
      { queue: fanoutQueue, role: queueReader }
      { queue: poisonQueue, role: queueSender }
    ]

module stateAccess 'modules/storage-access.bicep' = {
  name: 'state-access'
  params: {
    account: stateStorage.outputs.name
    principalId: identity.properties.principalId
    accountRoles: []
    containerGrants: [{ container: stateContainer, role: blobDataContributor }]
    queueGrants: concat(sendingGrants, fanoutGrants)
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  params: {
    name: name
    location: location
    tags: tags
    principalId: identity.properties.principalId
  }
}

module vault 'modules/vault.bicep' = if (!empty(vaultReferences)) {
  name: 'vault'
  params: {
    name: vaultName
    location: location
    tags: tags
    principalId: identity.properties.principalId
    purgeProtection: purgeProtection
  }
}

module serviceBusAccess 'modules/servicebus-access.bicep' = if (!empty(serviceBusNamespace)) {
  name: 'servicebus-access'
  scope: resourceGroup(serviceBusResourceGroup)
  params: {
    namespace: serviceBusNamespace
    principalId: identity.properties.principalId
    queues: serviceBusQueues
    topics: serviceBusTopics
  }
}

module eventHubsAccess 'modules/eventhubs-access.bicep' = if (!empty(eventHubsNamespace)) {
  name: 'eventhubs-access'
  scope: resourceGroup(eventHubsResourceGroup)
  params: {
    namespace: eventHubsNamespace
    principalId: identity.properties.principalId
    eventHubs: eventHubs
  }
}

module settings 'modules/settings.bicep' = {
  name: 'settings'
  params: {
    clientId: identity.properties.clientId
    hostAccount: hostStorage.outputs.name
    insightsConnectionString: monitoring.outputs.connectionString
    stateBlobs: stateStorage.outputs.blobEndpoint
    stateContainer: stateContainer
    stateAppName: stateAppName
    queueEndpoint: usesQueues ? stateStorage.outputs.queueEndpoint : ''
    serviceBusNamespace: serviceBusNamespace
    eventHubsNamespace: eventHubsNamespace
    sqlConnections: sqlConnections
    vaultName: vaultName
    vaultReferences: vaultReferences
    appSettings: appSettings
  }
}

module app 'modules/app.bicep' = {
  name: 'app'
  params: {
    name: name
    location: location
    tags: tags
    plan: plan
    planSize: planSize
    identityId: identity.id
    subnetId: subnetId
    packages: '${hostStorage.outputs.blobEndpoint}${packageContainer}'
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    alwaysReady: alwaysReady
    settings: settings.outputs.settings
  }
  // The app starts with its settings: the rights come first, and a minute may still pass until they are in force.
  dependsOn: [hostAccess, stateAccess, vault, serviceBusAccess, eventHubsAccess]
}

output appName string = app.outputs.name
output hostName string = app.outputs.hostName
output identityName string = identity.name
output identityClientId string = identity.properties.clientId
output identityPrincipalId string = identity.properties.principalId
output stateAccount string = stateStorage.outputs.name
output hostAccount string = hostStorage.outputs.name
output packageContainer string = packageContainer
output vaultName string = empty(vaultReferences) ? '' : vaultName
