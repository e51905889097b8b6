// What `azd up` deploys (azure.yaml): a resource group of the environment's name, and main.bicep in it, on Flex Consumption.
targetScope = 'subscription'

@minLength(1)
@maxLength(24)
@description('The name of the azd environment.')
param environmentName string

@metadata({ azd: { type: 'location' } })
param location string

param appSettings object
param vaultReferences object = {}
param sqlConnections array = []
param queues string[] = []
param fanoutQueue string = ''

var tags = { 'azd-env-name': environmentName }
var name = 'func-${environmentName}-${take(uniqueString(subscription().id, environmentName, location), 5)}'

resource group 'Microsoft.Resources/resourceGroups@2024-11-01' = {
  name: 'rg-${environmentName}'
  location: location
  tags: tags
}

module main 'main.bicep' = {
  name: 'rowrelay'
  scope: group
  params: {
    name: name
    location: location
    tags: tags
    plan: 'flex'
    stateAppName: environmentName
    appSettings: appSettings
    vaultReferences: vaultReferences
    sqlConnections: sqlConnections
    queues: queues
    fanoutQueue: fanoutQueue
    purgeProtection: false
  }
}

output AZURE_RESOURCE_GROUP string = group.name
output AZURE_FUNCTION_NAME string = main.outputs.appName
output ROWRELAY_IDENTITY string = main.outputs.identityName
output ROWRELAY_IDENTITY_CLIENT_ID string = main.outputs.identityClientId
output ROWRELAY_VAULT string = main.outputs.vaultName
output ROWRELAY_STATE_ACCOUNT string = main.outputs.stateAccount
