import type { JsonObject, Model, ModelReply } from '@halting/core'
import { isJsonObject, type ModelCallOptions, type ModelUpdate } from '@halting/core/adapters'
import { keyForms, redactedMark } from './known-keys.ts'

/** A text that arrives in pieces, without the secrets in it, wherever a piece ends. */
export interface TextRedactor {
  /** Adds a piece. Returns what is certain not to be part of a secret; the rest is returned later. */
  push(piece: string): string
  /** The text is complete: returns what is left of it. */
  end(): string
}

/**
 * T1: what is returned holds none of the forms, and is the same however the text was cut into pieces.
 * T2: no more is held back than could be the beginning of a form.
 * @param formsNow The forms to take out, the longest first.
 */
export function createTextRedactor(formsNow: () => readonly string[]): TextRedactor {
  let held = ''
  const take = (isComplete: boolean): string => {
    const forms = formsNow()
    const longest = forms[0]?.length ?? 0
    const beginnings = new Set(forms.map((form) => form.charAt(0)))
    let shown = ''
    let from = 0
    let at = 0
    while (at < held.length) {
      if (!beginnings.has(held.charAt(at))) {
        at++
        continue
      }
      const left = held.length - at
      if (!isComplete && left < longest && mayBecomeOne(held.slice(at), forms)) break
      const form = forms.find((one) => held.startsWith(one, at))
      if (form === undefined) {
        at++
        continue
      }
      shown += held.slice(from, at) + redactedMark
      at += form.length
      from = at
    }
    shown += held.slice(from, at)
    held = held.slice(at)
    return shown
  }
  return {
    push(piece) {
      held += piece
      return take(false)
    },
    end: () => take(true),
  }
}

function mayBecomeOne(text: string, forms: readonly string[]): boolean {
  return forms.some((form) => form.length > text.length && form.startsWith(text))
}

/**
 * The model, whose pieces of text are reported without the keys that this program itself uses, also where a key is cut into several pieces. Whole blocks
 * and the reply are as they are: what shows or stores those sees a key whole.
 */
export function withRedactedStream(model: Model, env: Readonly<Record<string, string | undefined>>): Model {
  const formsNow = keyForms(env)
  const redactedCall =
    (call: Model['call']): Model['call'] =>
    async (request, options) => {
      // Keys may be there only once the request is made, as those of a key helper.
      const updates = new RedactedUpdates(formsNow, options)
      const reply: ModelReply = await call(request, { ...options, emit: (update) => updates.take(update) })
      updates.endAll()
      return reply
    }
  return {
    ...model,
    call: redactedCall((...asked) => model.call(...asked)),
    ...(model.admit !== undefined && {
      async admit(asked: Parameters<NonNullable<Model['admit']>>[0]) {
        const admission = await model.admit?.(asked)
        // Checked above: a model does not lose it.
        if (admission === undefined) throw new TypeError('The model has no admit any more.')
        return { call: redactedCall((...made) => admission.call(...made)), leave: () => admission.leave() }
      },
    }),
  }
}

/** Deltas of the Messages API with a text, and the field that it is in. */
const textFields: { readonly [delta: string]: string } = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
}

interface OpenText {
  readonly redactor: TextRedactor
  /** The update that reports more of it. */
  readonly updateOf: (text: string) => ModelUpdate
  readonly index: number
}

/** Updates of one attempt, each text of a block by itself. */
class RedactedUpdates {
  readonly #formsNow: () => readonly string[]
  readonly #options: ModelCallOptions
  readonly #open = new Map<string, OpenText>()

  constructor(formsNow: () => readonly string[], options: ModelCallOptions) {
    this.#formsNow = formsNow
    this.#options = options
  }

  take(update: ModelUpdate): void {
    switch (update.type) {
      case 'text_delta':
      case 'thinking_delta': {
        const { type, index } = update
        return this.#add(`${type} ${index}`, index, update.text, (text) => ({ type, index, text }))
      }
      case 'block':
        this.#end(update.index, 'block')
        return this.#options.emit(update)
      case 'api_event':
        return this.#takeEvent(update)
    }
  }

  #takeEvent(update: Extract<ModelUpdate, { readonly type: 'api_event' }>): void {
    const { event } = update
    const { type, index, delta } = event
    if (type === 'content_block_stop' && typeof index === 'number') this.#end(index, 'event')
    const field = isJsonObject(delta) && typeof delta['type'] === 'string' ? textFields[delta['type']] : undefined
    if (field === undefined || typeof index !== 'number' || !isJsonObject(delta)) return this.#options.emit(update)
    const text = delta[field]
    if (typeof text !== 'string') return this.#options.emit(update)
    const withText = (shown: string): JsonObject => ({ ...event, delta: { ...delta, [field]: shown } })
    this.#add(`event ${field} ${index}`, index, text, (shown) => ({ type: 'api_event', event: withText(shown) }))
  }

  #add(name: string, index: number, piece: string, updateOf: OpenText['updateOf']): void {
    const open = this.#open.get(name) ?? { redactor: createTextRedactor(this.#formsNow), updateOf, index }
    this.#open.set(name, open)
    const shown = open.redactor.push(piece)
    if (shown !== '' || piece === '') this.#options.emit(updateOf(shown))
  }

  /** The block is complete: what was held back of its texts goes before what says so. */
  #end(index: number, of: 'block' | 'event'): void {
    for (const [name, open] of this.#open)
      if (open.index === index && name.startsWith('event') === (of === 'event')) this.#endText(name, open)
  }

  #endText(name: string, { redactor, updateOf }: OpenText): void {
    this.#open.delete(name)
    const shown = redactor.end()
    if (shown !== '') this.#options.emit(updateOf(shown))
  }

  /** The reply is there. */
  endAll(): void {
    for (const [name, open] of this.#open) this.#endText(name, open)
  }
}
