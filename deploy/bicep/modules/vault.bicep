// A key vault that the app may read secrets from. Nobody is given the right to write them: whoever deploys takes the role
// Key Vault Secrets Officer (deploy/README.md).
param name string
param location string
param tags object
param principalId string
param purgeProtection bool

var secretsUser = '4633458b-17de-408a-b874-0445c86b69e6'

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: { family: 'A', name: 'standard' }
    enableRbacAuthorization: true
    enableSoftDelete: true
    enablePurgeProtection: purgeProtection ? true : null
  }
}

resource reader 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(vault.id, secretsUser, principalId)
  scope: vault
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', secretsUser)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}
