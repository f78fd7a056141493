// Tools, resources and results of MCP servers.

// Descriptions of a server's tools.

export const undescribedTool = (tool: string, server: string): string => `${tool} of the MCP server ${server}`
export const hiddenSchema = '(Its input schema cannot be shown. The server checks the input.)'
export const renamedField = (name: string): string => `The server calls it ${JSON.stringify(name)}.`
export const refusedCombinations = 'The server rejects some combinations of fields.'
/** @param forms the fields of each form */
export function fieldForms(forms: readonly string[], moreForms: number): string {
  const listed = forms.map((fields, index) => `(${index + 1}) ${fields}`).join('; ')
  return `Use one of these combinations of fields: ${listed}${moreForms > 0 ? `; and ${moreForms} more` : ''}.`
}

export const toolSearchDescription = (servers: string): string =>
  `Finds tools of these MCP servers, which are too many to list: ${servers}. You can call the tools it finds from your next message on.`
export const noToolFits = (query: string, servers: string): string =>
  `No tool matches ${JSON.stringify(query)}. Try other words. Servers: ${servers}.`
export const toolsFound = 'You can call these tools from your next message on:'
export const foundTool = (name: string, description: string): string => `${name}: ${description}`

// Results.

export const emptyResult = '(The tool returned nothing.)'
export const emptyResource = '(The resource is empty.)'
export const imagesLeftOut = (count: number): string => `[${count} more images, not shown]`
export const partsLeftOut = (count: number): string => `[${count} more parts, not shown]`
export const audioBlock = (type: string): string => `[audio (${type}), not shown]`
export const resourceLink = (uri: string, about: string): string => `[resource ${uri}: ${about}]`
export const resourceText = (uri: string, text: string): string => `[resource ${uri}]\n${text}`
export const emptyPart = (uri: string): string => `[resource ${uri}: empty]`
export const binaryResource = (uri: string, bytes: number, type: string): string =>
  `[resource ${uri}: ${bytes} bytes of ${type === '' ? 'data' : type}, not shown]`
export const unusableImage = (why: string): string => `[image, not shown: ${why}]`
export const unknownBlock = (type: string): string => `[${type}, not shown]`
export const emptyBlock = (type: string): string => `[${type}, not shown: it has no content]`
export const untypedBlock = 'block without a type'
export const invalidBlock = '[invalid part, not shown]'
export const partWithoutContent = '[part without content, not shown]'
export const deepContent = '[structured content, not shown: nested too deeply]'

/** Between the head and the tail of a long result. */
export const middleLeftOut = (characters: number, maxTokens: number): string =>
  `\n\n[... ${characters} characters omitted here: results of MCP servers are limited to ${maxTokens} tokens (MAX_MCP_OUTPUT_TOKENS). Ask the tool for a smaller part. ...]\n\n`

// Resources.

export const resourceCount = (server: string, count: number): string =>
  `${server}: ${count} resource${count === 1 ? '' : 's'}`
export const moreResources = (count: number): string => `... and ${count} more`
export function resourceServers(names: readonly string[]): string {
  return names.length === 0 ? 'No MCP server has resources.' : `Servers with resources: ${names.join(', ')}.`
}
export const unknownServer = (name: string, servers: readonly string[]): string =>
  `No MCP server ${JSON.stringify(name)} with resources. ${resourceServers(servers)}`

// Calls that failed.

export const timedOut = (server: string, seconds: number): string =>
  `The MCP server ${server} did not answer within ${seconds} s (MCP_TOOL_TIMEOUT). The call may have taken effect or may still be running: check before you repeat it.`
export const connectionLost = (server: string, why: string): string =>
  `Lost the connection to the MCP server ${server}: ${why}. The call may have taken effect: check before you repeat it.`
export const connectionEnded =
  'The MCP server closed the connection before it answered. The call may have taken effect: check before you repeat it.'
export const notConnected = (server: string, why: string): string =>
  `The MCP server ${server} is not connected: ${why}.`
export const restarted = (server: string): string =>
  `The MCP server ${server} restarted and did not receive this call. It is being reconnected: call again.`
export const sessionExpired = 'its session expired'
export const notPermitted = (server: string, why: string): string => `The MCP server ${server} did not do this: ${why}.`
