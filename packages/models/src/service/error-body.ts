import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, parseJson, stringOf } from '../json-fields.ts'
import { contextLimitOf } from './context-limit.ts'
import type { ContextLimit } from './context-limit.ts'

/** What a service says of a failure, whichever of the known shapes it says it in. */
export interface ErrorBody {
  readonly type: string
  /** A name or a number; as text. */
  readonly code: string
  readonly message: string
  readonly requestId: string | null
  /** Whether the body is an error of a model service; else something in between answered. */
  readonly isApi: boolean
  /** Whether the service itself must have written it: gateways write a bare `message`, too. */
  readonly isFromService: boolean
  /** What it says of the window. */
  readonly contextLimit: ContextLimit | undefined
  /** The objects in which it says so, the innermost first: what else is read of them. */
  readonly objects: readonly JsonObject[]
}

/**
 * Reads the body of a failed answer: `{"error":{…}}` (Messages API, OpenAI, most others), `{"error":"…"}` (Ollama, xAI),
 * `{"object":"error",…}` and `{"message":…}` (vLLM, Mistral, Azure), `{"detail":…}` (services made with FastAPI), a
 * list with one of them (Gemini), one in a choice (OpenRouter), or a page of a proxy.
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

/** Whether a body is an error of a service, in one of the known shapes. */
export function isErrorBody(body: string): boolean {
  return readErrorBody(body).isApi
}

/** The same of what came as an object already, in the middle of a stream. */
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
  // Where others have a type Gemini has a status by name.
  const type = boundedName(error.type) || boundedName(error.status)
  const message = errorText(error.message) || errorText(error.detail) || pageText(JSON.stringify(error))
  const contextLimit = contextLimitOf(message, error)
  const metadata = isJsonObject(error.metadata) ? error.metadata : undefined
  const objects = metadata === undefined ? [error] : [metadata, error]
  const fields: Fields = { type, code: codeOf(error), message, contextLimit, objects }
  // A router tells what the service behind it fields in here.
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

/** A text, or an object or a list that holds it somewhere. */
function errorText(value: Json | undefined): string {
  if (typeof value === 'string') return boundedText(value)
  return typeof value === 'object' && value !== null ? pageText(JSON.stringify(value)) : ''
}

/** Longest text of a service that is found, and looked through for what it means. */
const longestMessage = 4_000
const tailLength = 1_000
const longestName = 100

/** The beginning and the end of a text. */
function boundedText(text: string): string {
  if (text.length <= longestMessage) return text
  return `${text.slice(0, longestMessage - tailLength)} … ${text.slice(-tailLength)}`
}

function boundedName(value: Json | undefined): string {
  return stringOf(value).slice(0, longestName)
}

/** How much of a page is looked at: what it says stands near its beginning. */
const longestPage = 16_384
const longestText = 200

/**
 * The first words of a page that a proxy answered with, without its tags, scripts and styles. Every character is looked
 * at a few times at most, whatever the page: it may be made to make patterns slow.
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

/** The place of the last character of the tag, or of the script or style, that begins here; below 0 when it has no end. */
function endOfTag(
  page: string,
  index: number,
  { tag, script, style }: Readonly<Record<'tag' | 'script' | 'style', Finder>>,
): number {
  const name = page.slice(index + 1, index + 7).toLowerCase()
  const close = name === 'script' ? script(index) : name.startsWith('style') ? style(index) : -1
  return close >= 0 ? close : tag(index)
}

/** Gives the place of the last character of the next such text, below 0 when there is none. Asked in rising order. */
type Finder = (from: number) => number

function finder(page: string, text: string): Finder {
  const lower = page.toLowerCase()
  // A few letters have a longer small form.
  const searched = lower.length === page.length ? lower : page
  let next: number | undefined
  return (from) => {
    if (next === undefined || (next >= 0 && next < from)) next = searched.indexOf(text, from)
    return next < 0 ? -1 : next + text.length - 1
  }
}
