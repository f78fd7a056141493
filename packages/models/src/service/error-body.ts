import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, parseJson, stringOf } from '../json-fields.ts'
import { contextLimitOf } from './context-limit.ts'
import type { ContextLimit } from './context-limit.ts'

/** The error that a service reported, in whichever known shape. */
export interface ErrorBody {
  readonly type: string
  /** The code of the error: a name or a number, as text. */
  readonly code: string
  readonly message: string
  readonly requestId: string | null
  /** Whether a model service sent the error; otherwise something in front of it did. */
  readonly isApi: boolean
  /** Whether the service itself must have sent the error: gateways send a bare `message`, too. */
  readonly isFromService: boolean
  /** The context limit that the error reports. */
  readonly contextLimit: ContextLimit | undefined
  /** The objects that contain the error, innermost first, for other fields. */
  readonly objects: readonly JsonObject[]
}

/**
 * Parses the body of a failed response: `{"error":{…}}` (Messages API, OpenAI, most others), `{"error":"…"}` (Ollama,
 * xAI), `{"object":"error",…}` and `{"message":…}` (vLLM, Mistral, Azure), `{"detail":…}` (FastAPI services), a list
 * with one of them (Gemini), an error in a choice (OpenRouter), or an HTML page of a proxy.
 */
export function readErrorBody(body: string): ErrorBody {
  const value = parseJson(body)
  const answer = Array.isArray(value) ? (value as unknown[])[0] : value
  if (!isJsonObject(answer)) return unknownErrorBody(pageText(body))
  return readError(answer) ?? { ...unknownErrorBody(pageText(body)), objects: [answer] }
}

function unknownErrorBody(message: string): ErrorBody {
  const contextLimit = contextLimitOf(message, undefined)
  return { type: '', code: '', message, requestId: null, isApi: false, isFromService: false, contextLimit, objects: [] }
}

/** Whether a body is a service error in one of the known shapes. */
export function isErrorBody(body: string): boolean {
  return readErrorBody(body).isApi
}

/** Parses an error that is already an object, from the middle of a stream. */
export function readErrorValue(error: Json | undefined): ErrorBody {
  return readError({ error: isJsonObject(error) ? error : stringOf(error) }) ?? unknownErrorBody('')
}

function readError(answer: JsonObject): ErrorBody | undefined {
  const { error, message, detail } = answer
  const requestId = typeof answer.request_id === 'string' ? boundedName(answer.request_id) : null
  if (isJsonObject(error)) {
    const fields = readFields(error)
    return { ...fields, requestId, isApi: true, isFromService: true, objects: [...fields.objects, answer] }
  }
  const found = [error, message, detail].find((words) => errorText(words) !== '')
  if (found !== undefined) {
    const type = boundedName(answer.type) || boundedName(answer.error_type)
    const isFromService = error !== undefined || answer.object === 'error' || answer.type !== undefined
    const text = errorText(found)
    const contextLimit = contextLimitOf(text, answer)
    const objects = [answer]
    return { type, code: codeOf(answer), message: text, requestId, isApi: true, isFromService, contextLimit, objects }
  }
  const choice = listOf(answer.choices).find((one) => isJsonObject(one) && isJsonObject(one.error))
  return isJsonObject(choice) ? readError({ error: choice.error }) : undefined
}

type Fields = Pick<ErrorBody, 'type' | 'code' | 'message' | 'contextLimit' | 'objects'>

function readFields(error: JsonObject): Fields {
  // Gemini has a status name where others have a type.
  const type = boundedName(error.type) || boundedName(error.status)
  const message = errorText(error.message) || errorText(error.detail) || pageText(JSON.stringify(error))
  const contextLimit = contextLimitOf(message, error)
  const metadata = isJsonObject(error.metadata) ? error.metadata : undefined
  const objects = metadata === undefined ? [error] : [metadata, error]
  const fields: Fields = { type, code: codeOf(error), message, contextLimit, objects }
  // A router puts the error of the underlying service in this field.
  const raw = stringOf(metadata?.raw)
  if (raw === '') return fields
  const inner = readErrorBody(raw)
  return {
    ...fields,
    type: type || inner.code || inner.type,
    message: boundedText(`${message}: ${inner.message}`),
    contextLimit: inner.contextLimit ?? fields.contextLimit,
    objects: [...inner.objects, ...objects],
  }
}

function codeOf({ code }: JsonObject): string {
  return typeof code === 'number' ? String(code) : boundedName(code)
}

/** Returns a text, or the text inside an object or a list. */
function errorText(value: Json | undefined): string {
  if (typeof value === 'string') return boundedText(value)
  return typeof value === 'object' && value !== null ? pageText(JSON.stringify(value)) : ''
}

/** Maximum length of an error text that is shown and searched. */
const longestMessage = 4_000
const tailLength = 1_000
const longestName = 100

/** Returns the beginning and the end of a text. */
function boundedText(text: string): string {
  if (text.length <= longestMessage) return text
  return `${text.slice(0, longestMessage - tailLength)} … ${text.slice(-tailLength)}`
}

function boundedName(value: Json | undefined): string {
  return stringOf(value).slice(0, longestName)
}

/** How much of a page is scanned: its message is near the beginning. */
const longestPage = 16_384
const longestText = 200

/**
 * Returns the first words of an HTML page without tags, scripts and styles. It scans each character only a few times,
 * because a page may be crafted to make patterns slow.
 */
function pageText(body: string): string {
  const page = body.slice(0, longestPage)
  const finders = { tag: finder(page, '>'), script: finder(page, '</script>'), style: finder(page, '</style>') }
  let text = ''
  let isSpaced = false
  for (let index = 0; index < page.length; index++) {
    const sign = page.charAt(index)
    const end = sign === '<' ? endOfTag(page, index, finders) : -1
    if (end >= 0) {
      index = end
      isSpaced = true
    } else if (sign.trim() === '') isSpaced = true
    else {
      text += isSpaced && text !== '' ? ` ${sign}` : sign
      isSpaced = false
    }
    if (text.length > longestText) return `${text.slice(0, longestText)}…`
  }
  return text
}

/** Returns the index of the last character of the tag, script or style that starts here; negative if it has no end. */
function endOfTag(
  page: string,
  index: number,
  { tag, script, style }: Readonly<Record<'tag' | 'script' | 'style', Finder>>,
): number {
  const name = page.slice(index + 1, index + 7).toLowerCase()
  const close = name === 'script' ? script(index) : name.startsWith('style') ? style(index) : -1
  return close >= 0 ? close : tag(index)
}

/**
 * Returns the index of the last character of the next match, negative without a match. Call it with rising positions.
 */
type Finder = (from: number) => number

function finder(page: string, text: string): Finder {
  const lower = page.toLowerCase()
  // A few letters have a longer lower-case form.
  const searched = lower.length === page.length ? lower : page
  let next: number | undefined
  return (from) => {
    if (next === undefined || (next >= 0 && next < from)) next = searched.indexOf(text, from)
    return next < 0 ? -1 : next + text.length - 1
  }
}
