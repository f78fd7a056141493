// How programs send requests to a model, and how it answers: the Messages API, the Responses API, generateContent. Requests are read into one form, and replies of one form are
// written as each of them.

/**
 * A request: its tools by name and schema, the texts of all results in order, whether it ends with a result, the calls without a result, and the schema of its answer.
 * @typedef {{ tools: readonly { name: string, schema: any }[], results: readonly string[], endsWithResult: boolean, unanswered: readonly string[], wants?: any }} Asked
 */
/**
 * A reply: text or one call, how it ended, and what is billed.
 * @typedef {{ text?: string, call?: { id: string, name: string, input: object }, end: 'complete' | 'cut' | 'refused', breaks: boolean, usage: { input: number, output: number } }} Reply
 */

const blocksOf = (content) => (Array.isArray(content) ? content : [])
const textOf = (content) => (typeof content === 'string' ? content : JSON.stringify(content ?? ''))
const without = (ids, answered) => ids.filter((id) => !answered.includes(id))

const messages = {
  path: /\/messages(?:\?|$)/,
  named: true,
  /** @returns {Asked} */
  read({ tools = [], messages: said = [], output_config: config, output_format: format = config?.format }) {
    const blocks = said.flatMap(({ content }) => blocksOf(content))
    const results = blocks.filter(({ type }) => type === 'tool_result')
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    return {
      tools: tools.map(({ name, input_schema: schema }) => ({ name, schema })),
      results: results.map(({ content }) => textOf(content)),
      endsWithResult: blocks.length > 0 && blocks.at(-1).type === 'tool_result',
      unanswered: without(calls, results.map(({ tool_use_id: id }) => id)),
      wants: format?.schema,
    }
  },
  /** @param {Reply} reply */
  write({ text = '', call, end, usage }, id) {
    const stop = end === 'cut' ? 'max_tokens' : end === 'refused' ? 'refusal' : call === undefined ? 'end_turn' : 'tool_use'
    const block = call === undefined ? { type: 'text', text: '' } : { type: 'tool_use', id: `toolu_${id}`, name: call.name, input: {} }
    const delta = call === undefined ? { type: 'text_delta', text } : { type: 'input_json_delta', partial_json: JSON.stringify(call.input) }
    const content = call === undefined && text === '' ? [] : [{ type: 'content_block_start', index: 0, content_block: block }, { type: 'content_block_delta', index: 0, delta }, { type: 'content_block_stop', index: 0 }]
    const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [], stop_reason: null, stop_sequence: null }
    return [
      { type: 'message_start', message: { ...message, usage: { input_tokens: usage.input, output_tokens: 1 } } },
      ...content,
      { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: usage.output } },
      { type: 'message_stop' },
    ]
  },
  /** The same without a stream. */
  whole(reply, id) {
    const [{ message }] = this.write(reply, id)
    const content = reply.call === undefined ? [{ type: 'text', text: reply.text ?? '' }] : [{ type: 'tool_use', id: `toolu_${id}`, ...reply.call }]
    return { ...message, content, stop_reason: reply.call === undefined ? 'end_turn' : 'tool_use', usage: { input_tokens: reply.usage.input, output_tokens: reply.usage.output } }
  },
  error: (message, status) => ({ type: 'error', error: { type: status === 429 ? 'rate_limit_error' : status >= 500 ? 'api_error' : 'invalid_request_error', message } }),
}

const responses = {
  path: /\/responses(?:\?|$)/,
  named: true,
  read({ tools = [], input = [], text }) {
    const items = blocksOf(input)
    const results = items.filter(({ type }) => /_output$/.test(type ?? ''))
    const calls = items.filter(({ type }) => /(?:function|custom_tool)_call$/.test(type ?? '')).map(({ call_id: id }) => id)
    return {
      tools: tools.map(({ name = '', parameters: schema }) => ({ name, schema })),
      results: results.map(({ output }) => textOf(output)),
      endsWithResult: /_output$/.test(items.at(-1)?.type ?? ''),
      unanswered: without(calls, results.map(({ call_id: id }) => id)),
      wants: text?.format?.schema,
    }
  },
  write({ text = '', call, end, usage }, id) {
    const response = { id: `resp_${id}`, usage: { input_tokens: usage.input, output_tokens: usage.output, total_tokens: usage.input + usage.output } }
    const said = end === 'refused' ? { type: 'refusal', refusal: 'I decline.' } : { type: 'output_text', text }
    const item =
      call === undefined
        ? { type: 'message', role: 'assistant', id: `msg_${id}`, content: text === '' && end !== 'refused' ? [] : [said] }
        : { type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, name: call.name, arguments: JSON.stringify(call.input) }
    const last =
      end === 'cut'
        ? { type: 'response.incomplete', response: { ...response, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } }
        : { type: 'response.completed', response }
    return [{ type: 'response.created', response: { id: response.id } }, { type: 'response.output_item.done', output_index: 0, item }, last]
  },
  error: (message, status) => ({
    error: { type: status === 429 ? 'rate_limit_exceeded' : status >= 500 ? 'server_error' : 'invalid_request_error', message, ...(status === 429 && { code: 'rate_limit_exceeded' }) },
  }),
}

const generate = {
  path: /:(?:streamG|g)enerateContent/,
  named: false,
  read({ tools = [], contents = [], generationConfig = {} }) {
    const parts = contents.flatMap(({ parts: of = [] }) => of)
    const results = parts.filter(({ functionResponse }) => functionResponse !== undefined)
    const calls = parts.filter(({ functionCall }) => functionCall !== undefined)
    return {
      tools: tools.flatMap(({ functionDeclarations = [] }) =>
        functionDeclarations.map(({ name, parametersJsonSchema, parameters }) => ({ name, schema: parametersJsonSchema ?? parameters })),
      ),
      results: results.map(({ functionResponse }) => textOf(functionResponse.response)),
      endsWithResult: parts.at(-1)?.functionResponse !== undefined,
      unanswered: calls.slice(results.length).map(({ functionCall: { name } }) => name),
      wants: generationConfig.responseJsonSchema ?? generationConfig.responseSchema,
    }
  },
  write({ text = '', call, end, usage }) {
    const finishReason = end === 'cut' ? 'MAX_TOKENS' : end === 'refused' ? 'SAFETY' : 'STOP'
    const parts = call !== undefined ? [{ functionCall: { name: call.name, args: call.input } }] : text === '' ? [] : [{ text }]
    const usageMetadata = { promptTokenCount: usage.input, candidatesTokenCount: usage.output, totalTokenCount: usage.input + usage.output }
    return [{ candidates: [{ index: 0, content: { role: 'model', parts }, finishReason }], usageMetadata }]
  },
  whole: (reply) => generate.write(reply)[0],
  error: (message, status, leftSeconds) => ({
    error: {
      code: status,
      message,
      status: status === 429 ? 'RESOURCE_EXHAUSTED' : status >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT',
      ...(leftSeconds !== undefined && { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${leftSeconds}s` }] }),
    },
  }),
}

export const protocols = [messages, responses, generate]

/** A call of the program's own shell tool. Undefined if it offers none. */
export function shellCall(tools, command, id) {
  const tool = tools.find(({ name }) => /^(?:Bash|bash|shell|exec_command|shell_command|run_shell_command)$/.test(name))
  if (tool === undefined) return undefined
  const { properties = {} } = tool.schema ?? {}
  const asArray = properties.command?.type === 'array'
  const input = properties.cmd !== undefined ? { cmd: command } : { command: asArray ? ['bash', '-c', command] : command }
  if (properties.description !== undefined) input.description = 'As asked'
  return { id, name: tool.name, input }
}

/** A call of the tool by which a model waits. Undefined without one. */
export function waitCall(tools, input, id) {
  return tools.some(({ name }) => name === 'Wait') ? { id, name: 'Wait', input } : undefined
}

/** A call of the tool by which a model reports that a goal is reached. Undefined without one. */
export function goalCall(tools, id) {
  const tool = tools.find(({ name }) => name === 'update_goal')
  if (tool === undefined) return undefined
  const { properties = {} } = tool.schema ?? {}
  return { id, name: tool.name, input: { status: 'complete', ...(properties.reason !== undefined && { reason: 'All tests pass.' }) } }
}

/** The answer of a judge, in the fields that the request asks for. @param {{ met: boolean, quote?: string }} verdict */
export function judgement(wants, text, { met, quote = 'It holds.' }) {
  const names = wants === undefined ? namedFields(text) : Object.keys(wants.properties ?? {})
  const evidence = met && quote !== 'It holds.' ? [quote] : []
  const values = { ok: met, met, decision: met ? 'accept' : 'reject', reason: quote, evidence, missing: met ? '' : quote }
  const typed = names.filter((name) => name in values).map((name) => [name, wants?.properties[name]?.type === 'array' ? [values[name]].flat().filter(Boolean) : values[name]])
  return JSON.stringify(Object.fromEntries(typed))
}

/** The fields of a verdict, if the request describes them in words. */
function namedFields(text) {
  if (/"decision\\?"/.test(text)) return ['decision', 'reason']
  return /"ok\\?"/.test(text) ? ['ok', 'reason'] : ['met', 'evidence', 'missing']
}

/** The smallest value that fits a schema: 0, no, nothing. The answer of a model without remarks. */
export function leastOf({ type, properties = {}, required = [], enum: values, minItems = 0, items = {} } = {}) {
  if (values !== undefined) return values[0]
  switch (String(Array.isArray(type) ? type[0] : type).toLowerCase()) {
    case 'object':
      return Object.fromEntries(required.map((name) => [name, leastOf(properties[name])]))
    case 'array':
      return Array.from({ length: minItems }, () => leastOf(items))
    case 'number':
    case 'integer':
      return 0
    case 'boolean':
      return false
    default:
      return ''
  }
}
