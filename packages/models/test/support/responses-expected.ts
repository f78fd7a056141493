import { isJsonObject, noUsage } from '@halting/core/adapters'
import type { Json, JsonObject, ModelReply } from '@halting/core'

type Fields = Record<string, Json>

/** The bytes of a stream as a server sends it. */
export function responsesBytes(events: readonly JsonObject[], lineEnd: '\n' | '\r\n' = '\n'): Buffer {
  return Buffer.from(
    events
      .map((event) => `event: ${event.type as string}${lineEnd}data: ${JSON.stringify(event)}${lineEnd}${lineEnd}`)
      .join(''),
  )
}

/** The items of a recording in their final state. At the end of the response, each is encrypted again. */
export function itemsDone(events: readonly JsonObject[]): readonly Json[] {
  return events.flatMap(({ type, item }) => (type === 'response.output_item.done' && item !== undefined ? [item] : []))
}

/**
 * The reply of a recording, read in a straightforward way from its items and its last event. The product is compared
 * with this reading.
 */
export function replyOfEvents(events: readonly JsonObject[], output: Json = itemsDone(events)): ModelReply {
  const { response: first } = events[0] as Fields
  const { response: last } = events.at(-1) as Fields
  const { usage, model } = last as Fields
  const ownCalls = (events as readonly Fields[]).flatMap(({ type, item }) =>
    type === 'response.output_item.added' && isJsonObject(item) && (item.type as string).endsWith('search_call')
      ? [item.id as string]
      : [],
  )
  const content = (output as Fields[]).flatMap((item) => blocksOf(item, ownCalls))
  const counts = usage as Fields
  const cached = Number((counts.input_tokens_details as Fields).cached_tokens)
  const searches = (output as Fields[]).filter(
    ({ type, action }) => type === 'web_search_call' && (action as Fields).type === 'search',
  ).length
  return {
    message: {
      role: 'assistant',
      // A gateway may give every event another id. The first one is reported.
      id: (first as Fields).id as string,
      model: model as string,
      // A straightforward reading creates the types of the library. If not, the comparison fails.
      content: content as never,
      stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: {
        ...noUsage,
        input_tokens: Number(counts.input_tokens) - cached,
        cache_read_input_tokens: cached,
        output_tokens: Number(counts.output_tokens),
        ...(searches > 0 && { server_tool_use: { web_search_requests: searches } }),
      },
    },
  }
}

function blocksOf(item: Fields, ownCalls: string[]): readonly Fields[] {
  const { id: _, ...rest } = item
  const kept = { api: 'responses', item: rest as JsonObject }
  const textsIn = (parts: Json | undefined): string =>
    ((parts ?? []) as Fields[]).map(({ text }) => text as string).join('\n\n')
  switch (item.type) {
    case 'reasoning': {
      const thinking = textsIn(item.summary) || textsIn(item.content)
      const isWorthKeeping = thinking !== '' || item.encrypted_content !== undefined
      return isWorthKeeping ? [{ type: 'thinking', thinking, signature: '', origin: kept }] : []
    }
    case 'message':
      return (item.content as Fields[]).map(({ text, annotations }) => ({
        type: 'text',
        text: text!,
        ...((annotations as Fields[]).length > 0 && {
          citations: (annotations as Fields[]).map(({ url, title, start_index, end_index }) => ({
            type: 'web_search_result_location',
            url: url!,
            title: title!,
            cited_text: (text as string).slice(Number(start_index), Number(end_index)),
          })),
        }),
        ...((item.phase !== undefined || (annotations as Fields[]).length > 0) && {
          origin: { api: 'responses', ...(item.phase !== undefined && { phase: item.phase }) },
        }),
      }))
    case 'function_call': {
      const { call_id: id, name, arguments: json, namespace } = item
      const origin = { api: 'responses', ...(namespace !== undefined && { namespace }) }
      return [
        {
          type: 'tool_use',
          id: id!,
          name: name!,
          input: JSON.parse(json as string) as Json,
          ...(namespace !== undefined && { origin }),
        },
      ]
    }
    case 'custom_tool_call': {
      const { call_id: id, name, input } = item
      return [
        {
          type: 'tool_use',
          id: id!,
          name: name!,
          input: { input: input! },
          origin: { api: 'responses', custom: true },
        },
      ]
    }
    case 'web_search_call':
    case 'tool_search_call': {
      const name = (item.type as string).replace('_call', '')
      const { sources = [], ...action } = (item.action ?? item.arguments) as Fields
      const id = ownCalls.shift()!
      return [
        { type: 'server_tool_use', id, name, input: action, origin: kept },
        {
          type: `${name}_tool_result`,
          tool_use_id: id,
          origin: { api: 'responses' },
          content: (sources as Fields[]).map(({ url }) => ({ type: 'web_search_result', url: url!, title: url! })),
        },
      ]
    }
    default:
      return [{ type: 'responses_item', origin: kept }]
  }
}
