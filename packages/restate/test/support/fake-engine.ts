import type { Engine, EnginePromise } from '../../src/engine/engine.ts'

interface Command {
  readonly type: 'once' | 'sleep'
  readonly name: string
  /** Of a sleep: when it is over. */
  readonly wakeAt?: number
}

/**
 * What an engine keeps of one invocation: what the handler asked for, in order, and what came of it, in order. It outlives attempts. An attempt that asks for
 * something else than the one before it is told so.
 */
export class FakeInvocation {
  readonly #commands: Command[] = []
  readonly #notified: { readonly id: string; readonly value: string }[] = []
  readonly #listeners = new Set<() => void>()
  readonly #signals = new Map<string, number>()
  #attempt: FakeAttempt | undefined
  attempts = 0

  /** The next attempt. The one before it is gone. */
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

  /** Puts a command on record, or finds that it is the one that was there. */
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

  /** What came, in order. */
  get kept(): readonly string[] {
    return this.#notified.map(({ value }) => value)
  }

  /** What came first of these. */
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

/** What one attempt at an invocation is given. */
export class FakeAttempt implements Engine {
  readonly #invocation: FakeInvocation
  readonly #gone = new AbortController()
  #commands = 0
  readonly #signalsAsked = new Map<string, number>()
  /** Closures that go on: while there is one, the engine cannot let go of the process. */
  #open = 0
  /** Called when only the engine is waited for. */
  onIdle: (() => void) | undefined

  constructor(invocation: FakeInvocation) {
    this.#invocation = invocation
  }

  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** The process is gone, or the engine has let go of it. */
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
    // All of them are made here.
    const waited = new Map((promises as readonly FakePromise<T>[]).map((promise) => [promise.id, promise]))
    const ids = new Set(waited.keys())
    for (;;) {
      const outcome = this.#invocation.firstOf(ids)
      // Who is gone waits for ever.
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

/** Signals of each name are numbered by themselves. */
function nextSignal(counts: Map<string, number>, name: string): string {
  const count = counts.get(name) ?? 0
  counts.set(name, count + 1)
  return `signal:${name}:${count}`
}
