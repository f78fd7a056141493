import type { SdkInitInfo } from './sdk-messages.ts'

/** What `system/init` tells where nothing else is said. */
export const defaultInit: SdkInitInfo = {
  cwd: '',
  mcp_servers: [],
  permissionMode: 'default',
  slash_commands: [],
  output_style: 'default',
  skills: [],
  plugins: [],
  apiKeySource: 'none',
  claude_code_version: '2.1.0',
}
