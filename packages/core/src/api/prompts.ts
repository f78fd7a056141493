import type { AbortCause } from '../values/abort.ts'
import type { Eventually } from '../values/eventually.ts'
import { holdsMedia } from '../model/media/places.ts'
import type { MessageContent } from '../model/messages.ts'

/** What a program does to what a person says before a run begins with it: images made smaller, for instance. */
export type PrepareContent = (content: MessageContent) => Eventually<MessageContent>

/**
 * Prompts of a session before their runs. Each is made ready in the order in which it came, and a run begins in that order too.
 * What holds no image and no document, with none before it, is ready at once.
 */
export class Prompts {
  readonly #prepare: PrepareContent | undefined
  /** The last of those that are being made ready. */
  #last: Promise<unknown> | undefined
  #interruption: AbortCause | undefined

  constructor(prepare: PrepareContent | undefined) {
    this.#prepare = prepare
  }

  ready(prompt: MessageContent | undefined): Eventually<MessageContent | undefined> {
    const prepare = this.#prepare
    const work =
      prepare === undefined || prompt === undefined || !holdsMedia({ content: prompt })
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

  /** No run goes on yet that could be aborted: the one that begins next is. */
  interrupt(cause: AbortCause): void {
    if (this.#last !== undefined) this.#interruption = cause
  }

  /** Aborts the run that begins, where it was interrupted before. */
  passInterruption(run: { abort(cause: AbortCause): void }): void {
    const cause = this.#interruption
    this.#interruption = undefined
    if (cause !== undefined) run.abort(cause)
  }
}

/** What it throws or gives that is no content leaves the prompt as it was said: what is wrong with it is looked at before the request. */
async function prepared(prepare: PrepareContent, prompt: MessageContent): Promise<MessageContent> {
  try {
    const given: unknown = await prepare(prompt)
    // What blocks it holds is looked at where a run begins.
    return typeof given === 'string' || Array.isArray(given) ? (given as MessageContent) : prompt
  } catch {
    return prompt
  }
}

/** A command that users of coding agents know. What is said behind it are instructions for the summary. */
export const compactCommand: RegExp = /^\/compact(?:\s+([\s\S]*))?$/
