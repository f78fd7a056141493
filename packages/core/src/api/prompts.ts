import type { AbortCause } from '../values/abort.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import { containsMedia } from '../model/media/places.ts'
import type { MessageContent } from '../model/messages.ts'

/** Transforms a prompt before its run begins, for example to scale images down. */
export type PrepareContent = (content: MessageContent) => MaybePromise<MessageContent>

/**
 * The prompts of a session that wait for their runs. Prompts are prepared in the order of arrival, and their runs begin
 * in the same order. A prompt without images or documents is ready at once, unless an earlier one is being prepared.
 */
export class Prompts {
  readonly #prepare: PrepareContent | undefined
  /** The last prompt that is being prepared. */
  #last: Promise<unknown> | undefined
  #interruption: AbortCause | undefined

  constructor(prepare: PrepareContent | undefined) {
    this.#prepare = prepare
  }

  ready(prompt: MessageContent | undefined): MaybePromise<MessageContent | undefined> {
    const prepare = this.#prepare
    const work =
      prepare === undefined || prompt === undefined || !containsMedia({ content: prompt })
        ? undefined
        : () => prepared(prepare, prompt)
    const before = this.#last
    if (work === undefined && before === undefined) return prompt
    const ready = (before ?? Promise.resolve()).then(() => (work === undefined ? prompt : work()))
    const last = ready.then(() => {
      if (this.#last === last) this.#last = undefined
    })
    this.#last = last
    return ready
  }

  /** Stores the cause of an interruption for the next run, since no run is in progress that could be aborted. */
  interrupt(cause: AbortCause): void {
    if (this.#last !== undefined) this.#interruption = cause
  }

  /** Aborts the new run if a person interrupted it before it began. */
  passInterruption(run: { abort(cause: AbortCause): void }): void {
    const cause = this.#interruption
    this.#interruption = undefined
    if (cause !== undefined) run.abort(cause)
  }
}

/** Prepares a prompt. If the callback throws or returns invalid content, the prompt stays unchanged; problems with it are detected before the request. */
async function prepared(prepare: PrepareContent, prompt: MessageContent): Promise<MessageContent> {
  try {
    const content: unknown = await prepare(prompt)
    // The blocks are validated when a run begins.
    return typeof content === 'string' || Array.isArray(content) ? (content as MessageContent) : prompt
  } catch {
    return prompt
  }
}

/** A command that users know from other coding agents. The text after it contains instructions for the summary. */
export const compactCommand: RegExp = /^\/compact(?:\s+([\s\S]*))?$/
