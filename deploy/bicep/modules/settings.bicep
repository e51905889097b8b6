// The app settings, the same on every plan. Connections by identity are written as the Functions host and Rowrelay both read them.
param clientId string
param hostAccount string
param insightsConnectionString string
param stateBlobs string
param stateContainer string
param stateAppName string
@description('Empty: no queue is used.')
param queueEndpoint string
param serviceBusNamespace string
param eventHubsNamespace string
param sqlConnections array
param vaultName string
param vaultReferences object
param appSettings object

var managed = 'managedidentity'

var host = {
  AzureWebJobsStorage__accountName: hostAccount
  AzureWebJobsStorage__credential: managed
  AzureWebJobsStorage__clientId: clientId
  APPLICATIONINSIGHTS_CONNECTION_STRING: insightsConnectionString
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${clientId};Authorization=AAD'
}

var state = {
  state__kind: 'blob'
  state__connection: 'RowrelayState'
  state__container: stateContainer
  state__app_name: stateAppName
  RowrelayState__blobServiceUri: stateBlobs
  RowrelayState__credential: managed
  RowrelayState__clientId: clientId
}

var queue = empty(queueEndpoint)
  ? {}
  : {
      RowrelayQueues__queueServiceUri: queueEndpoint
      RowrelayQueues__credential: managed
      RowrelayQueues__clientId: clientId
    }

var serviceBus = empty(serviceBusNamespace)
  ? {}
  : {
      RowrelayServiceBus__fullyQualifiedNamespace: '${serviceBusNamespace}.servicebus.windows.net'
      RowrelayServiceBus__credential: managed
      RowrelayServiceBus__clientId: clientId
    }

var eventHubs = empty(eventHubsNamespace)
  ? {}
  : {
      RowrelayEventHubs__fullyQualifiedNamespace: '${eventHubsNamespace}.servicebus.windows.net'
      RowrelayEventHubs__credential: managed
      RowrelayEventHubs__clientId: clientId
    }

var sql = union(
  toObject(sqlConnections, c => '${c.name}__server', c => c.server),
  toObject(sqlConnections, c => '${c.name}__database', c => c.database),
  toObject(sqlConnections, c => '${c.name}__credential', c => managed),
  toObject(sqlConnections, c => '${c.name}__clientId', c => clientId)
)

var secrets = toObject(
  items(vaultReferences),
  s => s.key,
  s => '@Microsoft.KeyVault(VaultName=${vaultName};SecretName=${s.value})'
)

output settings object = union(appSettings, host, state, queue, serviceBus, eventHubs, sql, secrets)
