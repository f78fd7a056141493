import type { McpLimits } from './limits.ts'
import type { SignIns } from './sign-in/sign-ins.ts'
import type { StdioPlace } from './stdio-transport.ts'

/** What a server asks a person, by way of the tool that it runs. */
export interface ElicitationRequest {
  readonly message: string
  /** JSON Schema of what it wants to know. */
  readonly requestedSchema?: unknown
}

/** A person's answer to a question of an MCP server. */
export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: { readonly [field: string]: string | number | boolean | readonly string[] }
}

export interface ConnectionPlace extends StdioPlace {
  /** What the server is called here. */
  readonly name: string
  /** Who a person is at servers; without it no server is told. */
  readonly signIns?: SignIns | undefined
  readonly directories: readonly string[]
  readonly limits: McpLimits
  readonly version: string
  /** Asks a person; without it every question is declined. */
  readonly elicit?: ((request: ElicitationRequest, signal: AbortSignal) => Promise<ElicitationAnswer>) | undefined
}
