import type { BlockOrigin, ModelUpdate } from '@halting/core/adapters'
import type { JsonObject, Usage } from '@halting/core'
import { MessageAssembler } from '../anthropic/message-assembler.ts'
import type { OpenBlock } from '../anthropic/open-block.ts'
import { messageStart, emitAndRead } from '../anthropic/emit-event.ts'
import { idFromSeed } from '../openai/call-format.ts'
import type { Assembled, Progress } from '../service/stream-reader.ts'

/** Returns what is sent back with a completed block; `input` is the parsed input of a call. */
export type BlockOriginOf = (open: OpenBlock, input?: JsonObject) => BlockOrigin | undefined

/** Feeds blocks to the assembler as Messages API events, and emits those events. */
export class BlockFeed {
  readonly #emit: (update: ModelUpdate) => void
  readonly #assembler: MessageAssembler
  readonly #origins = new Map<JsonObject, BlockOriginOf>()
  readonly #ids = new Set<string>()
  readonly #seed: string
  /** The start of the message, emitted with its first content: until then a response may be refused, or start again. */
  #beginning: JsonObject | undefined
  #blocks = 0
  #problem: Progress | undefined

  /** `seed` is the idempotency key of the request; ids are derived from it. */
  constructor(seed: string, emit: (update: ModelUpdate) => void) {
    this.#seed = seed
    this.#emit = emit
    this.#assembler = new MessageAssembler(emit, (open, input) => this.#origins.get(open.start)?.(open, input))
  }

  get blocks(): number {
    return this.#blocks
  }

  /** The first violation in the stream. */
  get problem(): Progress | undefined {
    return this.#problem
  }

  /** Returns an id that no other call of the reply has: the received id, unless it is empty or in use. */
  ownId(given: string): string {
    const id = given === '' || this.#ids.has(given) ? `call-${idFromSeed(`${this.#seed} ${this.#ids.size}`)}` : given
    this.#ids.add(id)
    return id
  }

  start(id: string, model: string): void {
    this.#beginning = messageStart(id, model)
  }

  /** Begins a block, and returns its index. */
  begin(block: JsonObject, originOf?: BlockOriginOf): number {
    const index = this.#blocks++
    if (originOf !== undefined) this.#origins.set(block, originOf)
    this.#feed({ type: 'content_block_start', index, content_block: block })
    return index
  }

  delta(index: number, delta: JsonObject): Progress {
    return this.#feed({ type: 'content_block_delta', index, delta })
  }

  /** Replaces the text of an open block whose deltas had gaps. */
  replace(index: number, text: string): void {
    this.#assembler.replaceText(index, text)
  }

  end(index: number): void {
    this.#feed({ type: 'content_block_stop', index })
  }

  /** Ends the message. Open blocks were truncated, and are dropped. */
  stop(stop_reason: string, usage: Usage | undefined): void {
    this.#assembler.dropOpen()
    this.#feed({
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null },
      ...(usage !== undefined && { usage }),
    })
    this.#feed({ type: 'message_stop' })
  }

  /** Reports two replies in one stream. */
  mixed(): Progress {
    return this.#assembler.mixed()
  }

  finish(): Assembled {
    return this.#assembler.finish()
  }

  #feed(event: JsonObject): Progress {
    const beginning = this.#beginning
    this.#beginning = undefined
    if (beginning !== undefined) this.#emitEvent(beginning)
    return this.#emitEvent(event)
  }

  #emitEvent(event: JsonObject): Progress {
    const progress = emitAndRead(this.#emit, event, () => this.#assembler.take(event))
    if (progress.kind === 'violation') this.#problem ??= progress
    return progress
  }
}
