import type { RunEvent } from '../state/events.ts'
import type { Background, TaskNote } from '../verification/background.ts'
import type { BackgroundTask } from './session.ts'

/** Ended tasks that are still shown: the newest. */
const mostEnded = 20

/** What goes on beside the runs, by what the loop tells of it; that a command has ended, its port knows before. */
export class BackgroundList {
  readonly #port: Pick<Background, 'running' | 'knows'> | undefined
  readonly #now: () => number
  #tasks: readonly BackgroundTask[] = []

  constructor(port: Pick<Background, 'running' | 'knows'> | undefined, now: () => number) {
    this.#port = port
    this.#now = now
  }

  get tasks(): readonly BackgroundTask[] {
    const running = new Set(this.#port?.running().map(({ id }) => id))
    return this.#tasks.map((task) =>
      task.kind === 'command' && task.status === 'running' && !running.has(task.id)
        ? { ...task, status: 'ended' }
        : task,
    )
  }

  /** True when something began or ended. */
  onEvent(event: RunEvent): boolean {
    if (event.type !== 'message') return false
    const { entry } = event
    const notes = entry.kind === 'user' || entry.kind === 'attachment' ? entry.tasks : undefined
    if (notes === undefined || notes.length === 0) return false
    for (const note of notes) this.#enter(note)
    return true
  }

  #enter(note: TaskNote): void {
    const { id } = note
    if (id === null) return
    if (note.type === 'started') {
      const kind = this.#port?.knows(id) === true ? 'command' : 'agent'
      const task = { id, kind, description: note.description, startedAtMs: this.#now(), status: 'running' } as const
      this.#tasks = [...this.#tasks.filter((each) => each.id !== id), task]
    } else if (note.type === 'ended' || note.how !== 'kept') {
      this.#tasks = this.#tasks.map((each) => (each.id === id ? { ...each, status: 'ended' } : each))
    }
    const ended = this.#tasks.filter(({ status }) => status === 'ended')
    const old = new Set(ended.slice(0, -mostEnded))
    if (old.size > 0) this.#tasks = this.#tasks.filter((each) => !old.has(each))
  }
}
