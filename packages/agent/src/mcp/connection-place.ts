import type { Elicitations } from './elicitations.ts'
import type { McpLimits } from './limits.ts'
import type { SignIns } from './sign-in/sign-ins.ts'
import type { StdioPlace } from './stdio-transport.ts'

export interface ConnectionPlace extends StdioPlace {
  /** What the server is called here. */
  readonly name: string
  /** Who a person is at servers; without it no server is told. */
  readonly signIns?: SignIns | undefined
  readonly directories: readonly string[]
  readonly limits: McpLimits
  readonly version: string
  readonly elicitations: Elicitations
}
