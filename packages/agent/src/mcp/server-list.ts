import { isDeepStrictEqual } from 'node:util'
import type { McpServerEntry } from './config.ts'
import type { ServerTool } from './connection.ts'
import { validServerName } from '@halting/policy'
import type { McpStatus, ServerHandle } from './server-handle.ts'

/** A server as reported by `system/init` and to hosts. */
export interface McpServerStatus {
  /** Name of the server. */
  readonly name: string
  /** The state of its connection. */
  readonly status: McpStatus
  /** Why the server is not connected. */
  readonly problem?: string
  /** Number of the server's tools. */
  readonly tools: number
  /**
   * The server's tools and prompts that are omitted or shown without their fields: a clause each, such as `its tool x
   * is left out: it has no name`.
   */
  readonly leftOut?: readonly string[]
  /** What the server reports about itself, once it is connected. */
  readonly info?: {
    /** The server's name. */
    readonly name: string
    /** The server's version. */
    readonly version: string
  }
  /** Where the server is configured; `dynamic` if a host added it during the session. */
  readonly scope?: McpServerEntry['scope']
  /** The server's tools, if it has any. */
  readonly offered?: readonly OfferedTool[]
}

/** A tool as its server names it. */
export interface OfferedTool {
  /** Name of the tool, without the server's name. */
  readonly name: string
  /** What the tool does. */
  readonly description?: string
  /** The server declares it read-only. */
  readonly readOnly?: boolean
  /** The server declares that it may destroy something. */
  readonly destructive?: boolean
  /** The server declares that it reaches beyond the server. */
  readonly openWorld?: boolean
}

/** The result of replacing the servers. */
export interface ServersReplaced {
  /** Names of the servers that were connected. */
  readonly added: readonly string[]
  /** Names of the servers that were disconnected. */
  readonly removed: readonly string[]
  /** Why servers are not connected, by name. */
  readonly errors: Readonly<Record<string, string>>
}

interface Slot {
  readonly entry: McpServerEntry
  /** Undefined if the server cannot be used, or is disabled. */
  readonly handle?: ServerHandle
  readonly problem?: string
  readonly isOff?: true
}

/** A server that can be connected to. */
export type ConnectableEntry = McpServerEntry & {
  readonly server: Exclude<McpServerEntry['server'], { readonly problem: string }>
}

/**
 * The servers of a session in order, connected or not. L1: server names must remain distinct within tool names; of two
 * that collide, the later one is not connected. L2: a server that is removed or disabled is ended; no caller waits
 * longer than the connection timeout. L3: changes are made one after another.
 */
export class ServerList {
  readonly #connect: (server: ConnectableEntry) => ServerHandle
  readonly #onChange: () => void
  #slots: readonly Slot[] = []
  #isOver = false
  #changes: Promise<unknown> = Promise.resolve()

  constructor(
    entries: readonly McpServerEntry[],
    connect: (server: ConnectableEntry) => ServerHandle,
    /** Called when servers are added, removed or switched; handles report their own changes. */
    onChange: () => void,
  ) {
    this.#connect = connect
    this.#onChange = onChange
    for (const entry of entries) this.#slots = [...this.#slots, this.#slotOf(entry)]
  }

  get handles(): readonly ServerHandle[] {
    return this.#slots.flatMap(({ handle }) => handle ?? [])
  }

  get statuses(): readonly McpServerStatus[] {
    return this.#slots.map(statusOf)
  }

  /**
   * Replaces the servers of earlier calls, and those that were `dynamic` at the start. An unchanged server stays
   * connected. Resolves when each server has connected or failed.
   */
  replace(entries: readonly McpServerEntry[]): Promise<ServersReplaced> {
    return this.#inTurn(() => this.#replace(entries))
  }

  async #replace(entries: readonly McpServerEntry[]): Promise<ServersReplaced> {
    const dynamicEntries = entries.map((entry): McpServerEntry => ({ ...entry, scope: 'dynamic' }))
    const isKept = ({ entry }: Slot): boolean =>
      entry.scope === 'dynamic'
        ? dynamicEntries.some((one) => isDeepStrictEqual(one, entry))
        : !dynamicEntries.some(({ name }) => name === entry.name)
    const gone = this.#slots.filter((slot) => !isKept(slot))
    this.#slots = this.#slots.filter(isKept)
    await Promise.all(gone.map(async ({ handle }) => handle?.end()))
    const present = new Set(this.#slots.map(({ entry }) => entry.name))
    const added = this.#isOver ? [] : dynamicEntries.filter(({ name }) => !present.has(name))
    for (const entry of added) this.#slots = [...this.#slots, this.#slotOf(entry)]
    this.#onChange()
    const isNew = ({ entry }: Slot): boolean => added.some(({ name }) => name === entry.name)
    await Promise.all(this.#slots.filter(isNew).map(async ({ handle }) => handle?.settled))
    return {
      added: added.map(({ name }) => name),
      removed: gone.map(({ entry }) => entry.name).filter((name) => !dynamicEntries.some((one) => one.name === name)),
      errors: Object.fromEntries(
        this.#slots
          .filter(isNew)
          .map(statusOf)
          .flatMap(({ name, status, problem }) => {
            return status === 'connected' ? [] : [[name, problem ?? status]]
          }),
      ),
    }
  }

  /**
   * Reconnects a server.
   * @throws Error if the server does not connect, or if no server has this name
   */
  reconnect(name: string): Promise<void> {
    return this.#inTurn(async () => {
      const { entry, isOff } = this.#slot(name)
      if (isOff) throw new Error(`The MCP server ${name} is switched off.`)
      await this.#anew(entry)
    })
  }

  /**
   * Switches a server off or on.
   * @throws as `reconnect` does
   */
  toggle(name: string, { isOn }: { readonly isOn: boolean }): Promise<void> {
    return this.#inTurn(async () => {
      const { entry, isOff = false, handle } = this.#slot(name)
      if (isOff !== isOn) return
      if (isOn) return this.#anew(entry)
      this.#put(name, { entry, isOff: true })
      await handle?.end()
      this.#onChange()
    })
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const made = this.#changes.then(change)
    this.#changes = made.catch(() => undefined)
    return made
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.handles.map((handle) => handle.end()))
  }

  async #anew(entry: McpServerEntry): Promise<void> {
    const { name } = entry
    await this.#slot(name).handle?.end()
    if (this.#isOver) throw new Error('the session is over')
    const slot = this.#slotOf(entry)
    this.#put(name, slot)
    this.#onChange()
    await slot.handle?.settled
    const { status, problem } = statusOf(slot)
    if (status !== 'connected') throw new Error(`The MCP server ${name} is not connected: ${problem ?? status}.`)
  }

  #slot(name: string): Slot {
    const slot = this.#slots.find(({ entry }) => entry.name === name)
    if (slot === undefined) throw new Error(`There is no MCP server ${name}.`)
    return slot
  }

  #put(name: string, slot: Slot): void {
    this.#slots = this.#slots.map((one) => (one.entry.name === name ? slot : one))
  }

  #slotOf(entry: McpServerEntry): Slot {
    const { name, server } = entry
    if ('problem' in server) return { entry, problem: server.problem }
    const valid = validServerName(name)
    if (valid === '') return { entry, problem: 'its name has no letter or digit' }
    const other = this.#slots.find(
      (slot) => slot.handle !== undefined && slot.entry.name !== name && validServerName(slot.entry.name) === valid,
    )
    if (other !== undefined)
      return { entry, problem: `its tools would have the same names as those of ${other.entry.name}` }
    return { entry, handle: this.#connect({ ...entry, server }) }
  }
}

function statusOf({ entry: { name, scope }, handle, problem, isOff }: Slot): McpServerStatus {
  const of = { name, ...(scope !== undefined && { scope }) }
  if (handle === undefined) {
    const isProblem = problem !== undefined && { problem }
    return { ...of, status: isOff ? 'disabled' : 'failed', ...isProblem, tools: 0 }
  }
  const { offered, info } = handle
  return {
    ...of,
    status: handle.status,
    ...(handle.problem !== undefined && { problem: handle.problem }),
    tools: offered.tools.length,
    ...(offered.problems.length > 0 && { leftOut: offered.problems }),
    ...(info !== undefined && { info }),
    ...(offered.tools.length > 0 && { offered: offered.tools.map(toolOf) }),
  }
}

function toolOf({ name, description, annotations = {} }: ServerTool): OfferedTool {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations
  return {
    name,
    ...(description !== undefined && { description }),
    ...(readOnlyHint !== undefined && { readOnly: readOnlyHint }),
    ...(destructiveHint !== undefined && { destructive: destructiveHint }),
    ...(openWorldHint !== undefined && { openWorld: openWorldHint }),
  }
}
