// The function app and its plan. Flex Consumption has the package beside it and takes no setting about it; the other plans run
// from a package that the host downloads by identity, so that no plan needs a key, nor the file share that would.
param name string
param location string
param tags object
@allowed(['flex', 'premium', 'dedicated', 'consumption'])
param plan string
param planSize string
param identityId string
param subnetId string
@description('The address of the container that holds the package.')
param packages string
param instanceMemoryMB int
param maximumInstanceCount int
param alwaysReady array
param settings object

var flex = plan == 'flex'
var plans = {
  flex: { size: 'FC1', tier: 'FlexConsumption', kind: 'functionapp' }
  premium: { size: 'EP1', tier: 'ElasticPremium', kind: 'elastic' }
  dedicated: { size: 'P0v3', tier: null, kind: 'linux' }
  consumption: { size: 'Y1', tier: 'Dynamic', kind: 'functionapp' }
}

resource farm 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: 'plan-${name}'
  location: location
  tags: tags
  kind: plans[plan].kind
  sku: {
    name: empty(planSize) ? plans[plan].size : planSize
    tier: plans[plan].tier
  }
  properties: {
    reserved: true
    maximumElasticWorkerCount: plan == 'premium' ? 20 : null
  }
}

resource site 'Microsoft.Web/sites@2024-11-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'rowrelay' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    serverFarmId: farm.id
    reserved: flex ? null : true
    httpsOnly: true
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    siteConfig: {
      minTlsVersion: '1.2'
      ftpsState: flex ? null : 'Disabled'
      linuxFxVersion: flex ? null : ''
      // On a dedicated plan timers stop with the site when it is idle.
      alwaysOn: plan == 'dedicated'
      minimumElasticInstanceCount: plan == 'premium' ? 1 : null
    }
    functionAppConfig: flex
      ? {
          deployment: {
            storage: {
              type: 'blobContainer'
              value: packages
              authentication: {
                type: 'UserAssignedIdentity'
                userAssignedIdentityResourceId: identityId
              }
            }
          }
          runtime: { name: 'custom', version: '1.0' }
          scaleAndConcurrency: {
            instanceMemoryMB: instanceMemoryMB
            maximumInstanceCount: maximumInstanceCount
            alwaysReady: alwaysReady
          }
        }
      : null
  }
}

resource appSettings 'Microsoft.Web/sites/config@2024-11-01' = {
  parent: site
  name: 'appsettings'
  properties: flex
    ? settings
    : union(settings, {
        FUNCTIONS_EXTENSION_VERSION: '~4'
        FUNCTIONS_WORKER_RUNTIME: 'custom'
        WEBSITE_RUN_FROM_PACKAGE: '${packages}/rowrelay.zip'
        WEBSITE_RUN_FROM_PACKAGE_BLOB_MI_RESOURCE_ID: identityId
      })
}

// Publishing takes an Entra ID token; user names and passwords are off.
resource noFtpPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: site
  name: 'ftp'
  properties: { allow: false }
}

resource noScmPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: site
  name: 'scm'
  properties: { allow: false }
}

output name string = site.name
output hostName string = site.properties.defaultHostName
