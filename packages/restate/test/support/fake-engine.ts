import type { Engine, EnginePromise } from '../../src/engine/engine.ts'

interface Command {
  readonly type: 'once' | 'sleep'
  readonly name: string
  /** When a sleep is over. */
  readonly wakeAt?: number
}

/**
 * What an engine stores of one invocation: the commands of the handler and their outcomes, in order. It outlives attempts. An attempt with another command than the one before it
 * fails.
 */
export class FakeInvocation {
  readonly #commands: Command[] = []
  readonly #notified: { readonly id: string; readonly value: string }[] = []
  readonly #listeners = new Set<() => void>()
  readonly #signals = new Map<string, number>()
  #attempt: FakeAttempt | undefined
  attempts = 0

  /** Begins the next attempt. The previous one is gone. */
  attempt(): FakeAttempt {
    this.#attempt?.kill()
    this.attempts++
    return (this.#attempt = new FakeAttempt(this))
  }

  /** The handler is over: its process has no part in it any more. */
  end(): void {
    this.#attempt?.kill()
  }

  signal(name: string, value: string): void {
    this.notify(nextSignal(this.#signals, name), value)
  }

  cancel(): void {
    this.notify('cancelled', '')
  }

  /** Records a command, or checks that it is the recorded one. */
  command(index: number, command: Command): Command {
    const there = this.#commands[index]
    if (there === undefined) {
      this.#commands.push(command)
      return command
    }
    if (there.type !== command.type || there.name !== command.name)
      throw new Error(
        `Journal mismatch: ${there.type} ${there.name} is on record, and ${command.type} ${command.name} was asked for.`,
      )
    return there
  }

  notify(id: string, value: string): void {
    if (this.#notified.some((one) => one.id === id)) return
    this.#notified.push({ id, value })
    for (const listener of this.#listeners) listener()
  }

  /** Outcomes, in order. */
  get kept(): readonly string[] {
    return this.#notified.map(({ value }) => value)
  }

  /** The first of these to complete. */
  firstOf(ids: ReadonlySet<string>): { readonly id: string; readonly value: string } | undefined {
    return this.#notified.find(({ id }) => ids.has(id))
  }

  onNotified(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Changes what is on record. */
  rewrite(change: (value: string) => string): void {
    this.#notified.splice(0, Infinity, ...this.#notified.map(({ id, value }) => ({ id, value: change(value) })))
  }
}

class FakePromise<T> implements EnginePromise<T> {
  readonly id: string
  readonly change: (value: string) => T

  constructor(id: string, change: (value: string) => T) {
    this.id = id
    this.change = change
  }

  map<U>(change: (value: T) => U): EnginePromise<U> {
    return new FakePromise(this.id, (value) => change(this.change(value)))
  }
}

/** What one attempt at an invocation has. */
export class FakeAttempt implements Engine {
  readonly #invocation: FakeInvocation
  readonly #gone = new AbortController()
  #commands = 0
  readonly #signalsAsked = new Map<string, number>()
  /** Running effects: while there is one, the engine cannot release the process. */
  #open = 0
  /** Called when only the engine is waited for. */
  onIdle: (() => void) | undefined

  constructor(invocation: FakeInvocation) {
    this.#invocation = invocation
  }

  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** The process is gone, or the engine has released it. */
  kill(): void {
    this.#gone.abort()
  }

  once(name: string, effect: () => Promise<string>): EnginePromise<string> {
    const index = this.#commands++
    this.#invocation.command(index, { type: 'once', name })
    const id = `once:${index}`
    if (this.#invocation.firstOf(new Set([id])) === undefined) void this.#do(id, effect)
    return new FakePromise(id, (value) => value)
  }

  async #do(id: string, effect: () => Promise<string>): Promise<void> {
    this.#open++
    // The engine calls it in a later turn.
    await Promise.resolve()
    const value = await effect().catch(() => undefined)
    this.#open--
    if (value === undefined) return
    if (!this.gone.aborted) this.#invocation.notify(id, value)
  }

  sleep(ms: number): EnginePromise<void> {
    const index = this.#commands++
    const { wakeAt = 0 } = this.#invocation.command(index, { type: 'sleep', name: '', wakeAt: Date.now() + ms })
    const id = `sleep:${index}`
    setTimeout(() => this.#invocation.notify(id, ''), Math.max(0, wakeAt - Date.now()))
    return new FakePromise(id, () => undefined)
  }

  signal(name: string): EnginePromise<string> {
    return new FakePromise(nextSignal(this.#signalsAsked, name), (value) => value)
  }

  cancelled(): EnginePromise<void> {
    return new FakePromise('cancelled', () => undefined)
  }

  async first<T>(promises: readonly EnginePromise<T>[]): Promise<T> {
    // All of them were created here.
    const waited = new Map((promises as readonly FakePromise<T>[]).map((promise) => [promise.id, promise]))
    const ids = new Set(waited.keys())
    for (;;) {
      const outcome = this.#invocation.firstOf(ids)
      // A gone attempt waits forever.
      if (this.gone.aborted) await new Promise(() => {})
      const promise = outcome && waited.get(outcome.id)
      if (outcome !== undefined && promise !== undefined) return promise.change(outcome.value)
      if (this.#open === 0) this.onIdle?.()
      await this.#somethingComes()
    }
  }

  #somethingComes(): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        forget()
        this.gone.removeEventListener('abort', go)
        resolve()
      }
      const forget = this.#invocation.onNotified(go)
      this.gone.addEventListener('abort', go)
    })
  }
}

/** Signals of each name have separate numbers. */
function nextSignal(counts: Map<string, number>, name: string): string {
  const count = counts.get(name) ?? 0
  counts.set(name, count + 1)
  return `signal:${name}:${count}`
}
