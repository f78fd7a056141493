import type { Elicitations } from './elicitations.ts'
import type { McpLimits } from './limits.ts'
import type { SignIns } from './sign-in/sign-ins.ts'
import type { StdioPlace } from './stdio-transport.ts'

/** A question of an MCP server to a person. */
export interface ElicitationRequest {
  readonly message: string
  /** `form`: the person fills in the fields of `requestedSchema`. `url`: the person opens `url` in a browser (default: `form`). */
  readonly mode?: 'form' | 'url'
  /** JSON Schema of the fields. */
  readonly requestedSchema?: unknown
  /** An `http` or `https` address. Show all of it and its host. Do not fetch it, and open it only when the person says so. */
  readonly url?: string
  /** The id of the request in `url` mode. */
  readonly elicitationId?: string
  /** Aborts when the server reports that the person has finished on the page, which may be after the answer. */
  readonly completed?: AbortSignal
}

/** A person's answer to a question of an MCP server. */
export interface ElicitationAnswer {
  /** `accept` in `url` mode: the person agrees to open the page. */
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
  readonly elicitations: Elicitations
}
