import type { JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { ModelUpdate } from '@halting/core/adapters'
import { stringOf } from '../json-fields.ts'

/** What a model thought in this process: the service can read it again, whatever it said of what came from a record. */
export interface OwnReasoning {
  /** Takes note of a block that a reply told. */
  note(update: ModelUpdate): void
  has(item: JsonObject): boolean
}

/** What is encrypted ends with its checksum: that tells one from another. */
const markLength = 64

export function createOwnReasoning(): OwnReasoning {
  const marks = new Set<string>()
  return {
    note(update) {
      if (update.type !== 'block' || update.block.type !== 'thinking') return
      const { origin } = update.block
      const item = isJsonObject(origin) && 'item' in origin ? origin.item : undefined
      const mark = isJsonObject(item) ? markOf(item) : ''
      if (mark !== '') marks.add(mark)
    },
    // What is not encrypted can be read by whoever gets it.
    has: (item) => markOf(item) === '' || marks.has(markOf(item)),
  }
}

function markOf({ encrypted_content: encrypted }: JsonObject): string {
  return stringOf(encrypted).slice(-markLength)
}
