import type { Json, JsonObject } from '@halting/core'
import { parseJson, stringOf } from '../json-fields.ts'
import { argumentsText, storedArguments } from '../openai/call-format.ts'
import { namelessTool, ping, violation } from '../service/stream-reader.ts'
import type { Progress } from '../service/stream-reader.ts'
import type { BlockFeed } from './block-feed.ts'
import type { OpenItem } from './open-item.ts'
import { responsesApi } from './origin.ts'
import type { ResponsesOrigin } from './origin.ts'

/** A call of one of our tools. Its arguments are JSON, or text for a custom tool. */
export class CallItem implements OpenItem {
  readonly type: 'function_call' | 'custom_tool_call'
  readonly #feed: BlockFeed
  readonly #fieldOf: (tool: string) => string
  #givenId = ''
  #name = ''
  #namespace = ''
  /** Arguments received so far, and how much of them was sent to the assembler. */
  #input = ''
  #fedLength = 0
  /** The final arguments, if they differ from the streamed ones. */
  #whole: string | undefined
  #index: number | undefined
  #isCut = false
  #isDone = false

  /** `fieldOf` names the input field for the text of a custom call. */
  constructor(type: CallItem['type'], feed: BlockFeed, fieldOf: (tool: string) => string) {
    this.type = type
    this.#feed = feed
    this.#fieldOf = fieldOf
  }

  get isDone(): boolean {
    return this.#isDone
  }

  get callId(): string {
    return this.#givenId
  }

  /** Whether the call may have been truncated; then the reply omits it. */
  get isCut(): boolean {
    return this.#isCut
  }

  /**
   * Whether an item can be this call, judged by name and id. Gateways change ids, so the id counts only if there is no
   * index.
   */
  mayBe({ call_id, name }: JsonObject, hasPlace: boolean): boolean {
    return isSame(this.#name, stringOf(name)) && (hasPlace || isSame(this.#givenId, stringOf(call_id)))
  }

  take({ call_id, name, namespace, arguments: json, input }: JsonObject): void {
    this.#givenId ||= stringOf(call_id)
    this.#name ||= stringOf(name)
    this.#namespace ||= stringOf(namespace)
    if (this.#name === '') return
    this.#begin()
    this.delta(this.#input === '' ? argumentsText(this.type === 'function_call' ? json : input) : '')
  }

  delta(text: string): Progress {
    this.#input += text
    return this.#emitInput()
  }

  /** Reports all arguments. */
  fill(whole: Json | undefined): Progress {
    const text = argumentsText(whole)
    if (text === '' || text === this.#input) return ping
    if (text.startsWith(this.#input)) return this.delta(text.slice(this.#input.length))
    if (text === this.#whole) return ping
    const isSame = this.#whole === undefined && this.type === 'function_call' && isEquivalentJson(text, this.#input)
    this.#whole = text
    return isSame ? ping : violation('the arguments of a call differ from the streamed ones')
  }

  done(item: JsonObject, wasCut = false): Progress {
    if (!this.mayBe(item, true)) return anotherCall
    this.take(item)
    const filled = this.fill(this.type === 'function_call' ? item.arguments : item.input)
    if (filled.kind === 'violation') return filled
    this.#isDone = true
    this.#isCut = item.status === 'incomplete' || (wasCut && item.status !== 'completed')
    if (!this.#isCut) this.#end()
    return filled
  }

  settle(wasCut: boolean): void {
    if (!wasCut && !this.#isDone) this.#end()
    this.#isDone = true
  }

  #end(): void {
    const index = this.#begin()
    this.#emitInput()
    if (this.type === 'custom_tool_call') {
      const opening = this.#fedLength === 0 ? this.#opening() : ''
      this.#feed.delta(index, { type: 'input_json_delta', partial_json: `${opening}"}` })
    }
    this.#feed.end(index)
  }

  #begin(): number {
    if (this.#index !== undefined) return this.#index
    const id = this.#feed.ownId(this.#givenId)
    const block = { type: 'tool_use', id, name: this.#name || namelessTool, input: {} }
    this.#index = this.#feed.begin(block, ({ inputJson }, input) => this.#originOf(inputJson, input))
    return this.#index
  }

  /** Feeds new arguments once the call has a name. */
  #emitInput(): Progress {
    if (this.#index === undefined || this.#fedLength === this.#input.length) return ping
    const added = this.#input.slice(this.#fedLength)
    const isFirst = this.#fedLength === 0
    this.#fedLength = this.#input.length
    const json =
      this.type === 'function_call' ? added : `${isFirst ? this.#opening() : ''}${JSON.stringify(added).slice(1, -1)}`
    return this.#feed.delta(this.#index, { type: 'input_json_delta', partial_json: json })
  }

  #opening(): string {
    return `{${JSON.stringify(this.#fieldOf(this.#name))}:"`
  }

  #originOf(inputJson: string, input: JsonObject | undefined): ResponsesOrigin | undefined {
    const isCustom = this.type === 'custom_tool_call'
    const stored = isCustom ? {} : storedArguments(inputJson, input)
    if (stored.arguments === undefined && !isCustom && this.#namespace === '') return undefined
    return {
      api: responsesApi,
      ...stored,
      ...(this.#namespace !== '' && { namespace: this.#namespace }),
      ...(isCustom && { custom: true }),
    }
  }
}

/** A call must not run with the arguments of another one. */
export const anotherCall: Progress = violation('a call ended with another id or name')

function isSame(known: string, given: string): boolean {
  return known === '' || given === '' || known === given
}

function isEquivalentJson(one: string, other: string): boolean {
  const [a, b] = [parseJson(one), parseJson(other)]
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b)
}
