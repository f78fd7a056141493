import type { SdkMessage } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { many } from '../io/figures.ts'

/** Which files the tools of a run changed, and by how many lines, as their structured results say. */
export interface FileChanges {
  see(message: SdkMessage): void
  /** `2 files changed +12 −3`; '' when none was. */
  readonly summary: string
}

export function followChanges(): FileChanges {
  const files = new Set<string>()
  let [added, removed] = [0, 0]
  return {
    see(message) {
      if (message.type !== 'user' || !isJsonObject(message.tool_use_result ?? null)) return
      // Just looked at.
      const { filePath, linesAdded, linesRemoved } = message.tool_use_result as { readonly [field: string]: unknown }
      if (typeof filePath !== 'string' || linesAdded === undefined) return
      files.add(filePath)
      added += numberOf(linesAdded)
      removed += numberOf(linesRemoved)
    },
    get summary() {
      return files.size === 0 ? '' : `${many(files.size, 'file')} changed +${added} −${removed}`
    },
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
