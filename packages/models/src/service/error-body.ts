import { isJsonObject } from '@halting/core'
import type { Json, JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'

/** What a service says of a failure, whichever of the known shapes it says it in. */
export interface Said {
  readonly type: string
  /** A name or a number; as text. */
  readonly code: string
  readonly message: string
  readonly requestId: string | null
  /** Whether the body is an error of a model service; else something in between answered. */
  readonly isApi: boolean
}

/**
 * Reads the body of a failed answer: `{"error":{…}}` (Messages API, OpenAI, most others), `{"error":"…"}` (Ollama),
 * `{"object":"error",…}` and `{"message":…}` (vLLM, Mistral, Azure), `{"detail":…}` (services made with FastAPI), a
 * list with one of them (Gemini), or a page of a proxy.
 */
export function readErrorBody(body: string): Said {
  const value = parseJson(body)
  const answer = Array.isArray(value) ? (value as unknown[])[0] : value
  const said = isJsonObject(answer) ? readError(answer) : undefined
  return said ?? { type: '', code: '', message: plainText(body), requestId: null, isApi: false }
}

/** The same of what came as an object already, in the middle of a stream. */
export function readErrorValue(error: Json | undefined): Said {
  const said = isJsonObject(error) ? readError({ error }) : readError({ error: stringOf(error) })
  return said ?? { type: '', code: '', message: '', requestId: null, isApi: false }
}

function readError(answer: JsonObject): Said | undefined {
  const { error, detail } = answer
  const requestId = typeof answer.request_id === 'string' ? answer.request_id : null
  if (isJsonObject(error)) {
    return { type: stringOf(error.type), code: codeOf(error), message: messageOf(error), requestId, isApi: true }
  }
  if (typeof error === 'string' && error !== '') return { type: '', code: '', message: error, requestId, isApi: true }
  if (typeof answer.message === 'string') {
    return { type: stringOf(answer.type), code: codeOf(answer), message: answer.message, requestId, isApi: true }
  }
  if (detail === undefined) return undefined
  const message = typeof detail === 'string' ? detail : plainText(JSON.stringify(detail))
  return { type: '', code: '', message, requestId, isApi: true }
}

function codeOf({ code }: JsonObject): string {
  return typeof code === 'number' ? String(code) : stringOf(code)
}

function messageOf(error: JsonObject): string {
  const { message, metadata } = error
  const said = typeof message === 'string' ? message : plainText(JSON.stringify(error))
  // A router tells what the service behind it said in here.
  const raw = isJsonObject(metadata) ? stringOf(metadata.raw) : ''
  return raw === '' ? said : `${said}: ${plainText(raw)}`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The first words of a page that a proxy answered with. */
function plainText(body: string): string {
  const text = body
    .replaceAll(/<(script|style)[\s\S]*?<\/\1>/gi, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
