import type { SdkMessage } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { many } from '../io/figures.ts'

/** Which files the tools of a run changed, and by how many lines, from their structured results. */
export interface FileChanges {
  onMessage(message: SdkMessage): void
  /** Adds a structured result. */
  add(details: unknown): void
  /** `2 files changed +12 −3`; '' if no file was changed. */
  readonly summary: string
}

export function followChanges(): FileChanges {
  const files = new Set<string>()
  let [added, removed] = [0, 0]
  const add = (details: unknown): void => {
    if (!isJsonObject(details)) return
    const { filePath, linesAdded, linesRemoved } = details
    if (typeof filePath !== 'string' || linesAdded === undefined) return
    files.add(filePath)
    added += numberOf(linesAdded)
    removed += numberOf(linesRemoved)
  }
  return {
    onMessage(message) {
      if (message.type === 'user') add(message.tool_use_result)
    },
    add,
    get summary() {
      return files.size === 0 ? '' : `${many(files.size, 'file')} changed +${added} −${removed}`
    },
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
