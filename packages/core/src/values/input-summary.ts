import { isJsonObject } from './json.ts'
import { patchPaths } from './patch-paths.ts'

const tellingFields = ['command', 'file_path', 'task_id', 'pattern', 'url', 'query', 'description', 'prompt']

/** The part of a call's input that identifies it for a person, such as its command or path; its JSON where no field does. May have several lines; '' for what is not an object. */
export function inputSummary(input: unknown): string {
  if (!isJsonObject(input)) return ''
  const telling = tellingFields.map((name) => input[name]).find((value) => typeof value === 'string')
  const { seconds } = input
  return telling ?? patchPaths(input['input']) ?? (typeof seconds === 'number' ? `${seconds} s` : JSON.stringify(input))
}
