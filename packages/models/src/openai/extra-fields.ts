import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'

/**
 * Converts additional fields to the Responses API: renames the fields of chat completions, and drops unsupported ones.
 */
export function asResponsesFields(extraBody: JsonObject): JsonObject {
  const {
    reasoning_effort: effort,
    response_format: format,
    verbosity,
    max_tokens: _,
    max_completion_tokens: __,
    stream_options: stream,
    ...same
  } = extraBody
  const text = {
    ...(format !== undefined && { format: flatFormat(format) }),
    ...(verbosity !== undefined && { verbosity }),
  }
  const { include_usage: ___, ...streamed } = objectOf(stream)
  return {
    ...same,
    ...(Object.keys(streamed).length > 0 && { stream_options: streamed }),
    ...(effort !== undefined && { reasoning: { effort, ...objectOf(same.reasoning) } }),
    ...(Object.keys(text).length > 0 && { text: { ...text, ...objectOf(same.text) } }),
  }
}

/** Converts the fields back, for a service that supports only chat completions. */
export function asChatFields(extraBody: JsonObject): JsonObject {
  const {
    text,
    reasoning,
    max_tool_calls: _,
    include: __,
    max_output_tokens: ___,
    truncation: ____,
    ...same
  } = extraBody
  const { format, verbosity } = objectOf(text)
  const { effort } = objectOf(reasoning)
  return {
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(format !== undefined && { response_format: nestedFormat(format) }),
    ...(verbosity !== undefined && { verbosity }),
    ...same,
  }
}

/** Converts `{type: 'json_schema', json_schema: {…}}` to the Responses format `{type: 'json_schema', …}`. */
function flatFormat(format: Json): Json {
  if (!isJsonObject(format) || !isJsonObject(format.json_schema)) return format
  const { json_schema: schema, ...rest } = format
  return { ...rest, ...schema }
}

function nestedFormat(format: Json): Json {
  if (!isJsonObject(format) || format.type !== 'json_schema') return format
  const { type, ...schema } = format
  return { type, json_schema: schema }
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
