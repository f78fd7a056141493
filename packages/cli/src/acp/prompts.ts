import type { RunResult } from '@halting/core'
import type { SessionEvent } from '@halting/core/session'

/** How a prompt ended: with a run, by a cancel before one started, or with an error. */
export type PromptEnd =
  | { readonly kind: 'terminal'; readonly terminal: RunResult; readonly isCancelled: boolean }
  | { readonly kind: 'cancelled' }
  /** A command was answered; no run was needed. */
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** A prompt that waits for its answer. */
export interface OpenPrompt {
  /** The id under which the session receives the prompt; not used if the prompt only continues the run. */
  readonly id: string
  readonly ended: Promise<PromptEnd>
  /** The client has cancelled it. */
  readonly isCancelled: boolean
}

interface PromptState {
  readonly id: string
  isCancelled: boolean
  /** How the session received it: as a message, or as a request to continue, which has no id in the session. */
  submittedAs: 'message' | 'goes on' | undefined
  runId: string | undefined
  readonly end: (end: PromptEnd) => void
}

/**
 * The unanswered prompts of one session.
 *
 * P1: every prompt is answered once. P2: a cancel before the session has the prompt still applies. P3: a run answers the prompts that started it and those that it received; a run that no prompt started answers the prompts that only continue.
 */
export class Prompts {
  readonly #entries = new Map<string, PromptState>()
  #count = 0

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  open(): OpenPrompt {
    this.#count += 1
    const id = `acp-${this.#count}-${crypto.randomUUID()}`
    let answer: (end: PromptEnd) => void = () => undefined
    const ended = new Promise<PromptEnd>((resolve) => {
      answer = resolve
    })
    const end = (how: PromptEnd): void => {
      this.#entries.delete(id)
      answer(how)
    }
    const entry: PromptState = { id, isCancelled: false, submittedAs: undefined, runId: undefined, end }
    this.#entries.set(id, entry)
    return {
      id,
      ended,
      get isCancelled() {
        return entry.isCancelled
      },
    }
  }

  /** Called just before the session receives the prompt. */
  markSubmitted({ id }: OpenPrompt, as: 'message' | 'goes on'): void {
    const entry = this.#entries.get(id)
    if (entry !== undefined) entry.submittedAs = as
  }

  /** The prompt cannot be submitted. */
  fail({ id }: OpenPrompt, error: unknown): void {
    this.#entries.get(id)?.end({ kind: 'failed', error })
  }

  /** The prompt was answered without a run. */
  done({ id }: OpenPrompt): void {
    this.#entries.get(id)?.end({ kind: 'done' })
  }

  /** Ends a prompt that was cancelled before any run received it. */
  cancelOne(id: string): void {
    this.#entries.get(id)?.end({ kind: 'cancelled' })
  }

  /** The client cancels all prompts. */
  cancelAll(): void {
    for (const entry of this.#entries.values()) entry.isCancelled = true
  }

  /** Whether a run has only prompts that were cancelled. */
  isUnwanted(runId: string): boolean {
    const waiting = [...this.#entries.values()].filter((entry) => entry.runId === runId)
    return waiting.length > 0 && waiting.every(({ isCancelled }) => isCancelled)
  }

  onEvent(event: SessionEvent): void {
    switch (event.type) {
      case 'run_start':
        for (const entry of this.#entries.values())
          if (event.ids.includes(entry.id) || (event.ids.length === 0 && isWaiting(entry))) entry.runId = event.runId
        return
      case 'taken':
        // The current run is the one that received the other prompts.
        for (const entry of this.#entries.values())
          if (event.ids.includes(entry.id)) entry.runId ??= this.#runOfOthers()
        return
      case 'run_end':
        for (const entry of this.#entries.values())
          if (entry.runId === event.runId)
            entry.end({ kind: 'terminal', terminal: event.terminal, isCancelled: entry.isCancelled })
        return
      case 'failed': {
        const { error, givenBack } = event
        // The previous run is already answered, and the current run will report its own end.
        if (event.isAfterRun === true) return
        for (const entry of this.#entries.values()) {
          const isOfRun = entry.runId !== undefined || isWaiting(entry)
          const isMeant = givenBack.length === 0 ? isOfRun : givenBack.some(({ id }) => id === entry.id)
          if (isMeant) entry.end(entry.isCancelled ? { kind: 'cancelled' } : { kind: 'failed', error })
        }
        return
      }
      case 'closed':
        for (const entry of this.#entries.values()) entry.end({ kind: 'cancelled' })
        return
      default:
    }
  }

  #runOfOthers(): string | undefined {
    return [...this.#entries.values()].find(({ runId }) => runId !== undefined)?.runId
  }
}

/** Whether the prompt only continues, and no run has received it yet. */
function isWaiting({ submittedAs, runId }: PromptState): boolean {
  return submittedAs === 'goes on' && runId === undefined
}
