// A server that speaks the protocol by hand, and breaks it as its first argument says.
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [mode = 'good', note = ''] = process.argv.slice(2)
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const answer = (id, result) => say({ id, result })
const write = (text) => note !== '' && appendFileSync(note, `${text}\n`)
write(`start ${process.pid}`)

const object = { type: 'object', properties: { text: { type: 'string' } } }
const tool = (name, more = {}) => ({ name, description: `does ${name}`, inputSchema: object, ...more })
const lists = {
  good: [tool('say', { annotations: { readOnlyHint: true } }), tool('do')],
  lying: [
    tool('bad-type', { inputSchema: { type: 'object', properties: { a: { type: 'florp' } } } }),
    tool('bad-name', { inputSchema: { type: 'object', properties: { 'a b/c': { type: 'string' } } } }),
    tool('bad-pattern', { inputSchema: { type: 'object', properties: { a: { type: 'string', pattern: '(' } } } }),
    tool('top', {
      inputSchema: { type: 'object', anyOf: [{ required: ['a'] }], properties: { a: { type: 'string' } } },
    }),
    tool('../../etc/passwd \n name'),
    tool('x'.repeat(200)),
    tool('twice'),
    tool('twice'),
    tool('long', { description: 'd'.repeat(100_000) }),
  ],
}
lists.odd = [{ title: 'Odd' }, { name: 'null', description: null, inputSchema: null }, ...lists.good]
let tools = lists[mode] ?? lists.good

if (mode === 'dead') {
  console.error('no licence found')
  process.exit(3)
}
if (mode === 'deaf') {
  process.on('SIGTERM', () => {})
  setInterval(() => {}, 1_000)
}
if (mode === 'child') {
  const child = spawn(process.execPath, ['-e', "process.on('SIGTERM',()=>{});setInterval(()=>{},1000)"], {
    stdio: 'ignore',
  })
  write(`child ${child.pid}`)
}
if (mode === 'garbage') setInterval(() => process.stdout.write('Listening on stdio, have fun!\n'.repeat(500)), 1)
if (mode === 'flood') setInterval(() => { for (let n = 0; n < 500; n++) say({ method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(1_000) } }) }, 1) // prettier-ignore
if (mode === 'endless-line') setInterval(() => process.stdout.write('x'.repeat(1_000_000)), 1)
if (mode === 'half') process.stdout.write('{"jsonrpc":"2.0",')

const capabilities = { tools: { listChanged: true }, prompts: {}, resources: {} }
let calls = 0

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (mode === 'silent' || mode === 'deaf' || mode === 'half') return
  if (method === 'initialize') {
    const respond = () =>
      answer(id, { protocolVersion: params.protocolVersion, capabilities, serverInfo: { name: mode, version: '1' } })
    if (mode === 'slow' && process.env.SLOW_UNTIL !== undefined) respondOnceThere(process.env.SLOW_UNTIL, respond)
    else if (mode === 'slow') setTimeout(respond, Number(process.env.SLOW_MS ?? 1_000))
    else if (mode === 'wrong-version')
      answer(id, { protocolVersion: 'never', capabilities, serverInfo: { name: mode, version: '1' } })
    else respond()
  } else if (method === 'tools/list') {
    // Of those that flood nothing may be seen but the flood: which of the two comes first is the machine's choice.
    if (mode === 'silent-list' || mode === 'garbage' || mode === 'flood') return
    if (mode === 'pages')
      answer(id, { tools: [tool(`page${params?.cursor ?? 0}`)], nextCursor: `${Number(params?.cursor ?? 0) + 1}` })
    else if (mode === 'no-list') answer(id, { tools: 'none' })
    else answer(id, { tools })
    if (mode === 'slow') write('listed')
  } else if (method === 'prompts/list')
    answer(id, { prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }, { name: 'rest' }] }] })
  else if (method === 'prompts/get')
    answer(id, {
      messages: [
        {
          role: 'user',
          content: {
            type: 'text',
            text: `Greet ${params.arguments.who}${params.arguments.rest === undefined ? '' : ` and ${params.arguments.rest}`}.`,
          },
        },
      ],
    })
  else if (method === 'resources/list')
    answer(id, { resources: [{ uri: 'mem://one', name: 'one', mimeType: 'text/plain' }] })
  else if (method === 'resources/templates/list') answer(id, { resourceTemplates: [] })
  else if (method === 'resources/read')
    answer(id, { contents: [{ uri: params.uri, mimeType: 'text/plain', text: 'the first' }] })
  else if (method === 'tools/call') call(id, params)
  else if (method === 'notifications/cancelled') write('cancelled')
  else if (method === 'roots/list' || id === undefined || method === undefined) return
  else say({ id, error: { code: -32601, message: 'no such method' } })
})

function respondOnceThere(file, respond) {
  if (existsSync(file)) respond()
  else setTimeout(() => respondOnceThere(file, respond), 20)
}

function call(id, { name, arguments: input, _meta }) {
  calls += 1
  write(`call ${name}`)
  const text = (said, more = {}) => answer(id, { content: [{ type: 'text', text: said }], ...more })
  if (mode === 'crash') process.exit(9)
  if (mode === 'crash-once' && note !== '' && calls === 1 && process.env.HALTING_TEST_CRASHED === undefined)
    process.exit(9)
  if (mode === 'hang') return
  if (mode === 'large') return text('y'.repeat(500_000))
  if (mode === 'too-large') return text('y'.repeat(40_000_000))
  if (mode === 'error') return text('it did not work', { isError: true })
  if (mode === 'rpc-error') return say({ id, error: { code: -32000, message: 'refused by the server' } })
  if (mode === 'nonsense') return answer(id, { content: 'no list' })
  if (mode === 'mixed') {
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    return answer(id, {
      content: [
        { type: 'text', text: 'a text' },
        { type: 'image', data: png, mimeType: 'image/png' },
        { type: 'image', data: 'bm8gaW1hZ2U=', mimeType: 'image/png' },
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
        { type: 'resource_link', uri: 'mem://one', name: 'one', mimeType: 'text/plain' },
        { type: 'resource', resource: { uri: 'mem://two', text: 'inside' } },
        { type: 'resource', resource: { uri: 'mem://three', blob: 'AAAA', mimeType: 'application/zip' } },
      ],
    })
  }
  if (mode === 'structured') return answer(id, { content: [], structuredContent: { degrees: 7 } })
  if (mode === 'grow') {
    tools = [...lists.good, tool('grown')]
    say({ method: 'notifications/tools/list_changed' })
  }
  if (mode === 'progress') {
    for (let n = 1; n <= 3; n++)
      say({
        method: 'notifications/progress',
        params: { progressToken: _meta?.progressToken, progress: n, total: 3, message: `step ${n}` },
      })
    // A client hears of it while it waits.
    setTimeout(() => text('done'), 100)
    return
  }
  if (mode === 'elicit') {
    say({
      id: 'ask',
      method: 'elicitation/create',
      params: { message: 'Your name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
    })
    process.stdin.on('data', (data) => {
      const reply = String(data)
        .split('\n')
        .filter((each) => each.includes('"id":"ask"'))
        .map((each) => JSON.parse(each))[0]
      if (reply !== undefined) text(JSON.stringify(reply.result ?? reply.error))
    })
    return
  }
  text(`${name} said ${input?.text ?? 'nothing'} in ${process.cwd()}`)
}
