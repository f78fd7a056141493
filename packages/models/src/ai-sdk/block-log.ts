import type { ContentBlock, Json, JsonObject } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import { mergeMetadata, originOf } from './origin.ts'

/** Adds to completed blocks what the provider said of them besides their content. */
export class BlockLog {
  readonly #provider: string
  readonly #emit: (update: ModelUpdate) => void
  /** What is known of a block: nothing yet, for one that only this provider understands. */
  readonly #metadata = new Map<number, JsonObject | undefined>()
  readonly #told = new Map<ContentBlock, ContentBlock>()

  constructor(provider: string, emit: (update: ModelUpdate) => void) {
    this.#provider = provider
    this.#emit = emit
  }

  /** Metadata that came with some part of a block. */
  note(index: number, metadata: Json | undefined): void {
    if (metadata === undefined) return
    const merged = mergeMetadata(this.#metadata.get(index), metadata)
    if (merged !== undefined) this.#metadata.set(index, merged)
  }

  /** The block means something to this provider alone. */
  own(index: number): void {
    this.#metadata.set(index, this.#metadata.get(index))
  }

  /** Hands updates on, with completed blocks as they are kept. */
  readonly pass = (update: ModelUpdate): void => {
    // Inputs are reported as the provider writes them, before the assembler has the whole call.
    if (update.type === 'tool_input_start' || update.type === 'tool_input_delta') return
    if (update.type !== 'block') return this.#emit(update)
    const { index } = update
    const block = this.#metadata.has(index)
      ? { ...update.block, origin: originOf(this.#provider, this.#metadata.get(index)) }
      : update.block
    this.#told.set(update.block, block)
    this.#emit({ ...update, block })
  }

  /** Blocks as they were told. */
  asTold(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
    return blocks.map((block) => this.#told.get(block) ?? block)
  }
}
