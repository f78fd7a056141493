import type { AnyTool } from '@halting/core'
import type { Background, TaskEnded, TaskLeft, TaskStarted } from '@halting/core/adapters'
import type { VirtualTime } from './virtual-time.ts'

// Background work that tools of the explorer start: commands that take some virtual time, and agents.

/** How long a background command takes, in milliseconds. */
const commandMs = 40

/** The commands of one process. Commands of an earlier process are unknown. */
export class VirtualCommands implements Background {
  readonly waitMs = 10_000
  readonly atEnd: Background['atEnd']
  readonly #time: VirtualTime
  readonly #running = new Map<string, TaskStarted>()
  readonly #ended = new Map<string, TaskEnded>()
  readonly #known = new Set<string>()
  readonly #listeners = new Set<() => void>()

  constructor(time: VirtualTime, atEnd: Background['atEnd']) {
    this.#time = time
    this.atEnd = atEnd
  }

  start(id: string): TaskStarted {
    const started = { type: 'started', id, description: `the command ${id}` } as const
    this.#known.add(id)
    this.#running.set(id, started)
    void this.#time.pass(commandMs).then(() => {
      if (!this.#running.delete(id)) return
      this.#ended.set(id, { type: 'ended', id, status: 'completed', summary: `The command ${id} ended.` })
      for (const listener of this.#listeners) listener()
    })
    return started
  }

  running(): readonly TaskStarted[] {
    return [...this.#running.values()]
  }

  ended(): readonly TaskEnded[] {
    return [...this.#ended.values()]
  }

  markReported(ids: readonly string[]): void {
    for (const id of ids) this.#ended.delete(id)
  }

  knows(id: string): boolean {
    return this.#known.has(id)
  }

  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  leave(): readonly TaskLeft[] {
    const left = this.running().map(({ id, description }) => {
      return { type: 'left', id, how: this.atEnd === 'keep' ? 'kept' : 'stopped', description } as const
    })
    this.#running.clear()
    return left
  }
}

/** Tools that start background work. */
export function toolsOfBackground(commands: VirtualCommands, begin: (key: string) => void): readonly AnyTool[] {
  const inputSchema = { type: 'object' } as const
  const described = { description: '', inputSchema, readOnly: false } as const
  return [
    {
      ...described,
      name: 'Start',
      execute(_input, { idempotencyKey }) {
        begin(idempotencyKey)
        return { content: 'started', tasks: [commands.start(idempotencyKey)] }
      },
    },
    {
      ...described,
      name: 'Beside',
      concurrencySafe: true,
      spawn: () => ({ prompt: 'a part of it, beside', maxTurns: 3, background: true }),
    },
    {
      ...described,
      name: 'Stop',
      onUnknownOutcome: 'rerun',
      async execute(_input, { agents }) {
        for (const id of agents?.ids ?? []) await agents?.find(id)?.stop()
        return 'stopped'
      },
    },
  ]
}
