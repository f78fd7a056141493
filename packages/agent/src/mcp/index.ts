// `@halting/agent/mcp`: servers of the Model Context Protocol. A separate entry, so that runs without servers load none
// of it.
export {
  type HttpServer,
  type InProcessServer,
  type McpInstance,
  type McpServerConfig,
  type McpServerEntry,
  readMcpServer,
  type RegisteredClient,
  type StdioServer,
} from './config.ts'
export {
  changeMcpServers,
  mcpFile,
  type McpScope,
  mcpScopes,
  mcpServersOf,
  mcpToolName,
  validServerName,
  signInsFolder,
} from '@halting/policy'
export type { Elicit, ElicitationAnswer, ElicitationRequest } from './elicitations.ts'
export { defaultMcpLimits, type McpLimits } from './limits.ts'
export type { McpStatus } from './server-handle.ts'
export type { PromptCommand } from './prompts.ts'
export { pluginServers } from './plugin-servers.ts'
export { openServers, serversOf, type SessionServers, type SessionServersOptions } from './session-servers.ts'
export { signIn, type SignInOptions } from './sign-in/sign-in.ts'
export { type SignIn, SignIns } from './sign-in/sign-ins.ts'
export type { McpServerStatus, OfferedTool, ServersReplaced } from './server-list.ts'
export { type McpOptions, McpServers } from './servers.ts'
export { openServers as openSessionServers, serverEntries } from '../open-session/mcp.ts'
