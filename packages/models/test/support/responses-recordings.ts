import { readdirSync, readFileSync } from 'node:fs'
import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'

/** One recorded response of OpenAI's Responses API, as its events. */
export interface ResponsesRecording {
  readonly name: string
  readonly events: readonly JsonObject[]
}

const folder = new URL('../fixtures/responses/', import.meta.url)

export const responsesRecordings: readonly ResponsesRecording[] = readdirSync(folder).flatMap((file) => {
  const answers: JsonObject[][] = []
  for (const line of readFileSync(new URL(file, folder), 'utf8').split('\n')) {
    if (line.trim() === '') continue
    const event = JSON.parse(line) as JsonObject
    if (event.type === 'response.created') answers.push([])
    answers.at(-1)?.push(event)
  }
  return answers.map((events, index) => ({ name: `${file.replace('.chunks.txt', '')} #${index + 1}`, events }))
})

type Fields = { readonly [name: string]: Json | undefined }

/**
 * The response according to its last event, and its text according to its deltas. The product is compared with this
 * reading.
 */
export function responseOf(events: readonly JsonObject[]) {
  // The recordings have the shape of the Responses API.
  const { model, output, usage, error } = (events.at(-1) as Fields).response as Fields
  // A gateway may give every event another id. The first one is reported.
  const { id } = (events[0] as Fields).response as Fields
  const items = output as readonly Fields[]
  const textsIn = (parts: Json | undefined, type: string): string =>
    ((parts ?? []) as readonly Fields[]).map((part) => (part.type === type ? (part.text as string) : '')).join('')
  const counts = isJsonObject(usage) ? usage : {}
  const cached = Number(((counts.input_tokens_details ?? {}) as Fields).cached_tokens ?? 0)
  const calls = items.flatMap(({ type, call_id, name, arguments: json, input }) => {
    if (type === 'function_call') return [{ id: call_id, name, input: JSON.parse(json as string) as Json }]
    // Plain text is not a valid input for our tools, so it is stored as invalid JSON.
    return type === 'custom_tool_call' ? [{ id: call_id, name, input: { INVALID_JSON: JSON.stringify(input) } }] : []
  })
  return {
    error: error ?? null,
    said: {
      id,
      model,
      // One recording was shortened: its deltas are everything that was streamed.
      text: (events as readonly Fields[])
        .map(({ type, delta }) => (type === 'response.output_text.delta' ? (delta as string) : ''))
        .join(''),
      thinking: items
        // The provider reads only summaries, not the `reasoning_text` of some local servers.
        .map(({ type, summary }) => (type === 'reasoning' ? textsIn(summary, 'summary_text') : ''))
        .join(''),
      calls,
      stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
      usage: { input: Number(counts.input_tokens) - cached, cached, output: Number(counts.output_tokens) },
    },
  }
}
