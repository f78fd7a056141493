import type { Elicitations } from './elicitations.ts'
import type { McpLimits } from './limits.ts'
import type { SignIns } from './sign-in/sign-ins.ts'
import type { StdioPlace } from './stdio-transport.ts'

export interface ConnectionPlace extends StdioPlace {
  /** The name of the server in this session. */
  readonly name: string
  /** The user's sign-ins. Without this field, no server receives a sign-in. */
  readonly signIns?: SignIns | undefined
  readonly directories: readonly string[]
  readonly limits: McpLimits
  readonly version: string
  readonly elicitations: Elicitations
}
