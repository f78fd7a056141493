// A model service for the terminal programs, in a process of its own: it answers each request at once, in the protocol of the request, and reports when
// requests arrived. It makes a given number of Read calls, and then answers.
import { createServer } from 'node:http'

/** Each call reads another file: otherwise programs detect a cycle. */
let plan = { files: [] }
/** When each request with tools arrived, in milliseconds of the wall clock. */
let moments = []

process.on('message', ({ begin }) => {
  if (begin !== undefined) [plan, moments] = [begin, []]
  process.send({ moments })
})

const service = createServer((request, response) => {
  const at = performance.timeOrigin + performance.now()
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.once('end', () => answer(request.url ?? '', parsed(Buffer.concat(parts).toString()), at, response))
})
service.listen(0, '127.0.0.1', () => process.send({ port: service.address().port }))

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function answer(url, body, at, response) {
  const protocol = protocols.find(({ path }) => path.test(url))
  if (protocol === undefined) return response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not here"}}')
  const tools = protocol.toolsOf(body)
  // Requests for titles and the like have no tools.
  if (tools.length > 0) moments.push(at)
  const call = tools.length > 0 ? readingCall(tools, plan.files[moments.length - 1]) : undefined
  const events = protocol.eventsOf(call, `call_${moments.length}`)
  const stream = events.map((event) => `${protocol.named ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`).join('')
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream)
}

/** How the measured program reads a file: by its own tool, or by a command. */
function readingCall(tools, file) {
  if (file === undefined) return undefined
  const reads = tools.find(({ name }) => /^(?:Read|read|read_file)$/.test(name))
  if (reads !== undefined) {
    const names = Object.keys(reads.schema?.properties ?? {})
    const path = names.find((name) => /path/i.test(name)) ?? 'file_path'
    return { name: reads.name, input: { [path]: file } }
  }
  const shell = tools.find(({ name }) => /^(?:shell|exec_command|shell_command)$/.test(name))
  if (shell === undefined) return undefined
  const { cmd, command } = shell.schema?.properties ?? {}
  const text = `cat ${file}`
  return { name: shell.name, input: cmd !== undefined ? { cmd: text } : { command: command?.type === 'array' ? ['cat', file] : text } }
}

const usage = { input_tokens: 10, output_tokens: 3 }

const protocols = [
  {
    path: /\/messages(?:\?|$)/,
    named: true,
    toolsOf: ({ tools = [] }) => tools.map(({ name, input_schema: schema }) => ({ name, schema })),
    eventsOf: (call, id) => [
      {
        type: 'message_start',
        message: { id: `msg_${id}`, type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null, usage },
      },
      {
        type: 'content_block_start',
        index: 0,
        content_block: call === undefined ? { type: 'text', text: '' } : { type: 'tool_use', id: `toolu_${id}`, name: call.name, input: {} },
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta: call === undefined ? { type: 'text_delta', text: 'Hello.' } : { type: 'input_json_delta', partial_json: JSON.stringify(call.input) },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: call === undefined ? 'end_turn' : 'tool_use', stop_sequence: null }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ],
  },
  {
    path: /\/responses(?:\?|$)/,
    named: true,
    toolsOf: ({ tools = [] }) => tools.map(({ name = '', parameters: schema }) => ({ name, schema })),
    eventsOf: (call, id) => [
      { type: 'response.created', response: { id: `resp_${id}` } },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item:
          call === undefined
            ? { type: 'message', role: 'assistant', id: `msg_${id}`, content: [{ type: 'output_text', text: 'Hello.' }] }
            : { type: 'function_call', id: `fc_${id}`, call_id: id, name: call.name, arguments: JSON.stringify(call.input) },
      },
      { type: 'response.completed', response: { id: `resp_${id}`, usage: { ...usage, total_tokens: 13 } } },
    ],
  },
  {
    path: /:streamGenerateContent/,
    toolsOf: ({ tools = [] }) =>
      tools.flatMap(({ functionDeclarations = [] }) =>
        functionDeclarations.map(({ name, parametersJsonSchema, parameters }) => ({ name, schema: parametersJsonSchema ?? parameters })),
      ),
    eventsOf: (call) => [
      {
        candidates: [
          {
            index: 0,
            content: { role: 'model', parts: [call === undefined ? { text: 'Hello.' } : { functionCall: { name: call.name, args: call.input } }] },
            finishReason: 'STOP',
          },
        ],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 3, totalTokenCount: 13 },
      },
    ],
  },
]
