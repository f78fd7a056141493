// A service of the Messages API whose code calls tools of the client. It rejects what that API rejects.
import type { JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { bytesOf } from './recordings.ts'
import { beginStream, startRawServer } from './raw-server.ts'

type Fields = Record<string, unknown>
interface Turn {
  readonly role: string
  readonly content: readonly Fields[]
}

interface Body {
  readonly tools: readonly Fields[]
  readonly messages: readonly Turn[]
  readonly container?: string
}

/** The events of a response, derived from the request. */
export type Answer = (body: Body) => readonly JsonObject[]

const container = { id: 'container_1', expires_at: '2999-01-01T00:00:00Z' }
export const codeVersion = 'code_execution_20260120'

/** Why the API would reject a request; undefined if it accepts it. */
function refusalOf({ tools, messages, container: given }: Body): string | undefined {
  const marks = tools.filter(
    ({ defer_loading, cache_control }) => defer_loading === true && cache_control !== undefined,
  )
  if (marks.length > 0) return 'Tools with defer_loading cannot use prompt caching.'
  const begun = new Set<unknown>()
  for (const [index, { role, content }] of messages.entries()) {
    if (content.length === 0) return `messages.${index}: content is empty`
    for (const { type, id } of content) if (type === 'server_tool_use') begun.add(id)
    const calls = content.filter(({ type }) => type === 'tool_use')
    const lost = calls.find(({ caller }) => isOfCode(caller) && !begun.has((caller as Fields).tool_id))
    if (lost !== undefined) return `messages.${index}: the code that made ${String(lost.id)} is not there`
    if (role !== 'assistant' || calls.length === 0) continue
    const next = messages[index + 1]
    const answered = next?.content.filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id)
    if (JSON.stringify(answered) !== JSON.stringify(calls.map(({ id }) => id)))
      return `messages.${index}: calls without results`
    if (!calls.some(({ caller }) => isOfCode(caller))) continue
    if (next?.content.some(({ type }) => type !== 'tool_result'))
      return `messages.${index + 1}: only results may stand here`
    if (next?.content.some((block) => 'cache_control' in block))
      return `messages.${index + 1}: cache_control on a result of code`
    if (given !== container.id) return 'container is missing'
  }
  return undefined
}

function isOfCode(caller: unknown): boolean {
  return isJsonObject(caller) && caller.type !== 'direct'
}

/** Answers consecutive requests. An invalid request and one beyond the last answer get a 400. */
export async function startProgramService(...answers: readonly Answer[]) {
  const refusals: string[] = []
  let answered = 0
  const server = await startRawServer((response) => {
    // The body of the current request.
    const body = JSON.parse(String(server.bodies.at(-1))) as Body
    const answer = answers[answered]
    const refusal = refusalOf(body) ?? (answer === undefined ? 'nothing is left to say' : undefined)
    if (refusal !== undefined || answer === undefined) {
      refusals.push(refusal ?? '')
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: refusal } }))
      return
    }
    answered++
    beginStream(response)
    response.end(bytesOf(answer(body)))
  })
  return {
    url: server.url,
    refusals,
    // The JSON was parsed above.
    bodies: () => server.bodies.map((body) => JSON.parse(String(body)) as Body),
    /** Continues with this answer, as a service that knows its programs whichever client asks. */
    goBackTo: (request: number) => void (answered = request),
  }
}

const usage = { input_tokens: 1_000, output_tokens: 100 }

export function started(parts: Fields = {}): JsonObject {
  const message = { id: 'msg', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 }, ...parts } // prettier-ignore
  return { type: 'message_start', message }
}

export function block(index: number, content_block: Fields, delta?: Fields): readonly JsonObject[] {
  const events = [
    { type: 'content_block_start', index, content_block },
    ...(delta === undefined ? [] : [{ type: 'content_block_delta', index, delta }]),
    { type: 'content_block_stop', index },
  ]
  return events as readonly JsonObject[]
}

export function stopped(stop_reason: string): readonly JsonObject[] {
  const delta = { stop_reason, stop_sequence: null, ...(stop_reason === 'tool_use' && { container }) }
  return [{ type: 'message_delta', delta, usage }, { type: 'message_stop' }]
}

export const callOfCode = (id: string, name: string, input: JsonObject): Fields => ({
  type: 'tool_use',
  id,
  name,
  input,
  caller: { type: codeVersion, tool_id: 'srvtoolu_1' },
})

/** The model writes code, which calls these tools at once. */
export function beginsProgram(...calls: readonly Fields[]): Answer {
  return () => [
    started(),
    ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'I roll by code.' }),
    ...block(
      1,
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: {}, caller: { type: 'direct' } },
      { type: 'input_json_delta', partial_json: '{"code": "roll()"}' },
    ),
    ...calls.flatMap((call, index) => block(2 + index, call)),
    ...stopped('tool_use'),
  ]
}

/** The code continues and calls these tools, without a model. */
export function continuesProgram(id: string, ...content: readonly Fields[]): Answer {
  return () => [
    started({ id, content, container, stop_reason: 'tool_use', usage: { input_tokens: 0, output_tokens: 0 } }),
    { type: 'message_stop' },
  ]
}

/** The code ends with the results of its calls, and the model repeats them. */
export const endsProgram: Answer = ({ messages }) => {
  const results = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
  const stdout = results.map(({ content }) => JSON.stringify(content)).join(' ')
  return [
    started(),
    ...block(0, {
      type: 'code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'code_execution_result', stdout, stderr: '', return_code: 0, content: [] },
    }),
    ...block(1, { type: 'text', text: '' }, { type: 'text_delta', text: `It printed ${stdout}.` }),
    ...stopped('end_turn'),
  ]
}

/** The model answers with this text. */
export function says(text: string): Answer {
  return () => [
    started(),
    ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text }),
    ...stopped('end_turn'),
  ]
}
