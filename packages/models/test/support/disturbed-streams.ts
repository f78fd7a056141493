// Generators and checks that the fuzz tests of both OpenAI protocols share.
import type { ContentBlock, Json, JsonObject } from '@halting/core'
import { isText } from '@halting/core/adapters'
import type { ModelUpdate } from '@halting/core/adapters'
import * as fc from 'fast-check'
import type { Assembled, Progress } from '../../src/service/stream-reader.ts'

/** A stream that was cut, reordered or partly repeated, that has garbage in it, or that is nothing but garbage. */
export function disturbed(
  events: readonly JsonObject[],
  garbage: fc.Arbitrary<JsonObject>,
): readonly fc.Arbitrary<readonly JsonObject[]>[] {
  return [
    fc.nat(events.length).map((length) => events.slice(0, length)),
    fc.shuffledSubarray([...events]),
    fc
      .tuple(fc.nat(events.length), fc.nat(events.length))
      .map(([from, to]) => [...events.slice(0, to), ...events.slice(from)]),
    fc.tuple(fc.nat(events.length), fc.array(garbage)).map(([at, more]) => events.toSpliced(at, 0, ...more)),
    fc.array(garbage),
  ]
}

/** Reasoning and white space. If there is nothing else, the request is sent again. */
export function isNothingToGoOnFrom(block: ContentBlock): boolean {
  return block.type === 'thinking' || (isText(block) && block.text.trim() === '')
}

interface Read {
  readonly assembled: Assembled
  readonly updates: readonly ModelUpdate[]
  readonly end: Progress | undefined
}

/**
 * The blocks that were emitted as complete, and those that were stored. Undefined for two messages, of which nothing is
 * stored (R-WIRE-5d, R-RESP-40).
 */
export function emittedAndStored({
  assembled,
  updates,
  end,
}: Read): { readonly emitted: readonly ContentBlock[]; readonly stored: readonly ContentBlock[] } | undefined {
  if (end?.kind === 'violation' && end.why.includes('two messages')) return undefined
  const blocks = updates.flatMap((update) => (update.type === 'block' ? [update] : []))
  const emitted = blocks.toSorted((a, b) => a.index - b.index).map(({ block }) => block)
  return {
    emitted,
    stored: assembled.kind === 'nothing' ? emitted.filter(isNothingToGoOnFrom) : assembled.message.content,
  }
}

/** Errors in the order of the emitted block events. */
export function disorderIn(updates: readonly ModelUpdate[]): readonly string[] {
  const open = new Set<Json | undefined>()
  const faults: string[] = []
  let begun = 0
  for (const update of updates) {
    if (update.type !== 'api_event') continue
    const { type, index } = update.event
    if (type === 'content_block_start') {
      if (index !== begun++) faults.push(`block ${JSON.stringify(index)} began after ${begun - 1} others`)
      open.add(index)
    }
    if (type === 'content_block_delta' && !open.has(index)) faults.push('a delta for a block that is not open')
    if (type === 'content_block_stop' && !open.delete(index)) faults.push('the end of a block that is not open')
  }
  return faults
}
