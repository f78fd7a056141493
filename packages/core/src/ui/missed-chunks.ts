import { positionOf, setEventId, type StreamPosition } from './event-ids.ts'
import type { PositionedChunk } from './ui-translator.ts'

/**
 * Selects the chunks of a run that a reconnecting client still needs. A client that read up to a recorded chunk
 * continues after that chunk. A client that stopped between two recorded chunks, in the middle of a text, must discard
 * its current step (`reset-step`) and receives that step again, so no text appears twice.
 */
export class MissedChunks {
  #after: StreamPosition | undefined
  #isSending = false
  /** Where the current step started. */
  #stepStart = 1
  /** Outside a step there is nothing to discard: a message that the client continues has separate parts. */
  #isInStep = false
  /** The chunks that were sent since the start of the current step. */
  #step: PositionedChunk[] = []

  constructor(after: string | undefined) {
    this.#after = after === undefined ? undefined : positionOf(after)
    this.#isSending = this.#after === undefined
  }

  take(item: PositionedChunk): readonly PositionedChunk[] {
    const after = this.#after
    if (this.#isSending || after === undefined) return [item]
    if (item.runId !== after.runId) return this.#send([item])
    if (item.step > after.step || (item.step === after.step && item.part > 0))
      return this.#send(after.part > 0 ? [...this.#reset(item), ...this.#step, item] : [item])
    if (item.chunk.type === 'start' || item.chunk.type === 'start-step') {
      this.#step = []
      this.#stepStart = item.step
      this.#isInStep = item.chunk.type === 'start-step'
    } else this.#step.push(item)
    // The process that sent it ended, and may have sent something that was never recorded.
    if (item.step === after.step && item.isRepeated) this.#after = { ...after, part: 1 }
    return []
  }

  /** Called when there are no more chunks. If a client claims a later position, its last step is invalid. */
  end(): readonly PositionedChunk[] {
    const last = this.#step.at(-1)
    const after = this.#after
    if (this.#isSending || after === undefined || last === undefined) return []
    return after.step > last.step || after.part > 0 ? [...this.#reset(last), ...this.#step] : []
  }

  #send(items: readonly PositionedChunk[]): readonly PositionedChunk[] {
    this.#isSending = true
    this.#step = []
    return items
  }

  /** A client that disconnects at this point returns to the same position. */
  #reset({ runId }: PositionedChunk): readonly PositionedChunk[] {
    if (!this.#isInStep) return []
    const chunk = { type: 'reset-step' } as const
    const positioned = { chunk, runId, step: this.#stepStart, part: 1, isRepeated: false }
    setEventId(chunk, positioned)
    return [positioned]
  }
}
