import { isJsonObject } from '@halting/core/adapters'

import { patchPaths } from './patch-paths.ts'

const tellingFields = ['command', 'file_path', 'task_id', 'pattern', 'url', 'query', 'description', 'prompt']

/** What of the input of a call tells a person what it is about. */
export function inputSummary(input: unknown): string {
  if (!isJsonObject(input)) return ''
  const telling = tellingFields.map((name) => input[name]).find((value) => typeof value === 'string')
  const { seconds } = input
  return telling ?? patchPaths(input['input']) ?? (typeof seconds === 'number' ? `${seconds} s` : JSON.stringify(input))
}
