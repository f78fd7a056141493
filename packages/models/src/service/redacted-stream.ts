import type { Model, ModelReply } from '@halting/core'
import { isJsonObject, type ModelCallOptions, modelFacts, type ModelUpdate } from '@halting/core/adapters'
import { keyForms, redactedMark } from './known-keys.ts'

/** Redacts a text that arrives in chunks, wherever it was split. */
export interface TextRedactor {
  /** Adds a chunk. Returns the text that cannot be part of a secret; the rest is returned later. */
  push(piece: string): string
  /** Reports that the text is complete; returns the rest. */
  end(): string
}

/**
 * T1: the result contains none of the forms, and does not depend on how the text was split.
 * T2: at most a possible beginning of a form is buffered.
 * @param formsNow Returns the forms to remove, longest first.
 */
export function createTextRedactor(formsNow: () => readonly string[]): TextRedactor {
  let pending = ''
  const take = (isComplete: boolean): string => {
    const forms = formsNow()
    const longest = forms[0]?.length ?? 0
    const places = placesOf(forms)
    let redacted = ''
    let from = 0
    let at = nextPlace(places, pending, 0)
    while (at < pending.length) {
      const left = pending.length - at
      if (!isComplete && left < longest && mayBecomeForm(pending.slice(at), forms)) break
      const form = forms.find((one) => pending.startsWith(one, at))
      if (form !== undefined) {
        redacted += pending.slice(from, at) + redactedMark
        from = at + form.length
      }
      at = nextPlace(places, pending, form === undefined ? at + 1 : from)
    }
    if (from === 0 && at >= pending.length) {
      const all = pending
      pending = ''
      return all
    }
    redacted += pending.slice(from, at)
    pending = pending.slice(at)
    return redacted
  }
  return {
    push(piece) {
      pending = pending === '' ? piece : pending + piece
      return take(false)
    },
    end: () => take(true),
  }
}

function mayBecomeForm(text: string, forms: readonly string[]): boolean {
  return forms.some((form) => form.length > text.length && form.startsWith(text))
}

/** This many characters distinguish a form from most other texts. */
const firstLook = 3

const patterns = new WeakMap<readonly string[], RegExp | null>()

/**
 * Matches where a form may begin: at its first characters, or at fewer of them at the end of the text. Null if there
 * are no forms.
 */
function placesOf(forms: readonly string[]): RegExp | null {
  const before = patterns.get(forms)
  if (before !== undefined) return before
  const beginnings = forms.flatMap((form) =>
    Array.from({ length: Math.min(firstLook, form.length) }, (_, index) => {
      const isWhole = index + 1 === Math.min(firstLook, form.length)
      return `${escaped(form.slice(0, index + 1))}${isWhole ? '' : '$'}`
    }),
  )
  const pattern = beginnings.length === 0 ? null : new RegExp([...new Set(beginnings)].join('|'), 'g')
  patterns.set(forms, pattern)
  return pattern
}

function nextPlace(places: RegExp | null, text: string, from: number): number {
  if (places === null) return text.length
  places.lastIndex = from
  return places.exec(text)?.index ?? text.length
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/**
 * Wraps a model so that its deltas do not contain the program's own keys, even if a key is split across deltas. Whole
 * blocks and the reply are unchanged: consumers redact those themselves.
 */
export function withRedactedStream(model: Model, env: Readonly<Record<string, string | undefined>>): Model {
  const formsNow = keyForms(env)
  const redactedCall =
    (call: Model['call']): Model['call'] =>
    async (request, options) => {
      // Some keys, such as those of a key helper, exist only once the request is made.
      const updates = new RedactedUpdates(formsNow, options)
      const reply: ModelReply = await call(request, { ...options, emit: (update) => updates.take(update) })
      updates.endAll()
      return reply
    }
  return {
    ...modelFacts(model),
    call: redactedCall((...asked) => model.call(...asked)),
    ...(model.admit !== undefined && {
      async admit(asked: Parameters<NonNullable<Model['admit']>>[0]) {
        const admission = await model.admit?.(asked)
        // Checked above: a model does not lose this method.
        if (admission === undefined) throw new TypeError('The model no longer has admit.')
        return { call: redactedCall((...made) => admission.call(...made)), leave: () => admission.leave() }
      },
    }),
  }
}

/** Where the text of a delta is: in an update, or in a field of a Messages API event. */
type Place = 'text_delta' | 'thinking_delta' | 'tool_input_delta' | 'text' | 'thinking' | 'partial_json'

/** Messages API deltas with text, and the field of the text. */
const textFields: { readonly [delta: string]: 'text' | 'thinking' | 'partial_json' | undefined } = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
}

interface OpenText {
  readonly redactor: TextRedactor
  /** The last update with a part of the text; held-back text is emitted in a copy of it. */
  update: ModelUpdate
}

/** Redacts the updates of one attempt, each text of a block separately. */
class RedactedUpdates {
  readonly #formsNow: () => readonly string[]
  readonly #options: ModelCallOptions
  /** By place, then by block index. */
  readonly #open = new Map<Place, Map<number, OpenText>>()

  constructor(formsNow: () => readonly string[], options: ModelCallOptions) {
    this.#formsNow = formsNow
    this.#options = options
  }

  take(update: ModelUpdate): void {
    switch (update.type) {
      case 'text_delta':
      case 'thinking_delta':
        return this.#add(update.type, update.index, update.text, update)
      case 'tool_input_delta':
        return this.#add(update.type, update.index, update.json, update)
      case 'tool_input_start':
        // A call restarts: first emits the text that was buffered for the previous call.
        this.#end(update.index, blockPlaces)
        return this.#options.emit(update)
      case 'block':
        this.#end(update.index, blockPlaces)
        return this.#options.emit(update)
      case 'api_event':
        return this.#takeEvent(update)
    }
  }

  #takeEvent(update: Extract<ModelUpdate, { readonly type: 'api_event' }>): void {
    const { type, index, delta } = update.event
    if (type === 'content_block_stop' && typeof index === 'number') this.#end(index, eventPlaces)
    if (!isJsonObject(delta) || typeof index !== 'number') return this.#options.emit(update)
    const field = typeof delta['type'] === 'string' ? textFields[delta['type']] : undefined
    const text = field === undefined ? undefined : delta[field]
    if (field === undefined || typeof text !== 'string') return this.#options.emit(update)
    this.#add(field, index, text, update)
  }

  #add(place: Place, index: number, piece: string, update: ModelUpdate): void {
    const open = this.#openText(place, index, update)
    open.update = update
    const redacted = open.redactor.push(piece)
    // Almost no text contains a key; then emit the original update.
    if (redacted === piece) this.#options.emit(update)
    else if (redacted !== '') this.#options.emit(withText(update, place, redacted))
  }

  #openText(place: Place, index: number, update: ModelUpdate): OpenText {
    let texts = this.#open.get(place)
    if (texts === undefined) this.#open.set(place, (texts = new Map()))
    let open = texts.get(index)
    if (open === undefined) texts.set(index, (open = { redactor: createTextRedactor(this.#formsNow), update }))
    return open
  }

  /** Emits held-back text before the event that completes its block. */
  #end(index: number, places: readonly Place[]): void {
    for (const place of places) {
      const texts = this.#open.get(place)
      const open = texts?.get(index)
      texts?.delete(index)
      if (open !== undefined) this.#endText(place, open)
    }
  }

  #endText(place: Place, { redactor, update }: OpenText): void {
    const redacted = redactor.end()
    if (redacted !== '') this.#options.emit(withText(update, place, redacted))
  }

  /** Emits all held-back text at the end of the reply. */
  endAll(): void {
    for (const [place, texts] of this.#open) for (const open of texts.values()) this.#endText(place, open)
    this.#open.clear()
  }
}

const blockPlaces = ['text_delta', 'thinking_delta', 'tool_input_delta'] as const
const eventPlaces = ['text', 'thinking', 'partial_json'] as const

/** Returns the update with another text. */
function withText(update: ModelUpdate, place: Place, text: string): ModelUpdate {
  if (update.type === 'text_delta' || update.type === 'thinking_delta') return { ...update, text }
  if (update.type === 'tool_input_delta') return { ...update, json: text }
  if (update.type !== 'api_event') return update
  const { delta } = update.event
  return { ...update, event: { ...update.event, delta: { ...(isJsonObject(delta) && delta), [place]: text } } }
}
