// Events of a streamed reply a second, over a real connection, from the bytes to the message: halting's adapters, the vendors'
// SDKs and pi, and for comparison eventsource-parser with JSON.parse alone. Run: node bench/sse.mjs [--repeats=5] [--events=20000] [--only=halting]
// It needs no build: the sources are bundled in memory. The server is a process of its own; so is every figure.
import { fork, spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { heading, medians, ms, numberOf, table } from './lib/measure.mjs'

const [kind, ...parameters] = process.argv.slice(2)
const self = fileURLToPath(import.meta.url)
const words = 'The loop goes round again because a tool was called, and it stops because nothing is left to do. '

const redacted = 'halting, as in a session'
const queried = 'halting, query()'

const protocols = {
  messages: {
    path: '/v1/messages',
    title: 'the Messages API',
    ways: { ...haltingWays(messagesModel), '@anthropic-ai/sdk, events': anthropicEvents, '@anthropic-ai/sdk, message': anthropicMessage, pi: piMessages },
  },
  chat: {
    path: '/v1/chat/completions',
    title: 'chat completions',
    ways: { ...haltingWays(chatModel), 'openai, chunks': openaiChunks, 'openai, message': openaiMessage, pi: piChat },
  },
  responses: {
    path: '/v1/responses',
    title: 'the Responses API',
    ways: { ...haltingWays(responsesModel), 'openai, events': openaiEvents },
  },
}
const alone = 'eventsource-parser and JSON.parse'

async function report() {
  const repeats = numberOf('repeats', 5)
  const events = numberOf('events', 20_000)
  // `--only=halting` needs none of the peers.
  const wanted = process.argv.find((parameter) => parameter.startsWith('--only='))?.slice('--only='.length)
  const server = fork(self, ['serve', String(events)])
  const port = await new Promise((resolve) => server.once('message', resolve))
  heading(`A stream of ${events.toLocaleString('en-US')} events`)
  for (const [protocol, { title, ways }] of Object.entries(protocols)) {
    const names = [alone, ...Object.keys(ways).filter((name) => isThere(name) && (wanted === undefined || name.startsWith(wanted)))]
    // Each way runs once per round, so that other work of the machine affects all of them alike.
    const samples = Object.fromEntries(names.map((name) => [name, []]))
    for (let round = 0; round < repeats; round++) {
      for (const name of names) samples[name].push(inChild(protocol, name, String(port)))
    }
    const figures = Object.fromEntries(names.map((name) => [name, medians(samples[name])]))
    const rows = names.map((name) => {
      const { firstMs, eventsPerSecond, cpuMs } = figures[name]
      const share = (eventsPerSecond / figures[alone].eventsPerSecond).toFixed(2)
      const cpuShare = (figures[alone].cpuMs / cpuMs).toFixed(2)
      return [name, Math.round(eventsPerSecond).toLocaleString('en-US'), share, ms(cpuMs), cpuShare, ms(firstMs)]
    })
    console.log(`### ${title}\n`)
    console.log(`${table(['', 'events a second', 'of the first', 'CPU a stream, ms', 'of the first', 'first stream with import, ms'], rows)}\n`)
  }
  server.kill()
}

/** pi is installed by the package.json of this folder alone. */
function isThere(name) {
  if (name !== 'pi') return true
  try {
    return import.meta.resolve('@earendil-works/pi-ai/api/anthropic-messages') !== ''
  } catch {
    return false
  }
}

function inChild(...given) {
  const { stdout, status } = spawnSync(process.execPath, [self, 'child', ...given], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  if (status !== 0) throw new Error(`${given.join(' ')} failed`)
  return JSON.parse(stdout)
}

/** The first stream includes imports; the next ones warm up; then come the measured ones. */
async function measure(protocol, name, port) {
  const base = `http://127.0.0.1:${port}`
  const way = name === alone ? parserAlone : protocols[protocol].ways[name]
  const bundled = name.startsWith('halting') ? await bundledSources() : undefined
  const began = performance.now()
  const read = await way(base, protocol, bundled)
  const events = await read()
  const firstMs = performance.now() - began
  for (let times = 0; times < 3; times++) await read()
  const runs = 7
  const cpu = process.cpuUsage()
  const start = performance.now()
  for (let times = 0; times < runs; times++) await read()
  const took = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { firstMs, eventsPerSecond: (events * runs * 1_000) / took, cpuMs: (user + system) / 1_000 / runs }
}

/** The result that every way must have: the number of events that the server sent. */
function checked(text) {
  if (!text.startsWith(words) || text.length % words.length !== 0) throw new Error('the text is not what was sent')
  return text.length / words.length
}

function textIn({ type, delta, choices }) {
  if (type === 'response.output_text.delta') return delta
  return delta?.text ?? choices?.[0]?.delta?.content ?? ''
}

async function parserAlone(base, protocol) {
  const { createParser } = await import('eventsource-parser')
  return async () => {
    let text = ''
    const parser = createParser({
      onEvent({ data }) {
        if (data === '[DONE]') return
        const event = JSON.parse(data)
        text += textIn(event)
      },
    })
    const decoder = new TextDecoder()
    const response = await fetch(`${base}${protocols[protocol].path}`, { method: 'POST', body: '{}' })
    for await (const piece of response.body) parser.feed(decoder.decode(piece, { stream: true }))
    return checked(text)
  }
}

const request = { system: '', tools: [], messages: [{ role: 'user', content: 'hi' }], maxTokens: 32_000, idempotencyKey: 'k' }

function haltingWith(model) {
  return async () => {
    let length = 0
    const { message } = await model.call(request, {
      signal: new AbortController().signal,
      emit(update) {
        if (update.type === 'text_delta') length += update.text.length
      },
    })
    if (message.content[0].text.length !== length) throw new Error('updates and message differ')
    return checked(message.content[0].text)
  }
}

/** Secrets that are in use, as most people have them: two of services and one that a tool reads. */
const apiKey = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789'
const keys = { ANTHROPIC_API_KEY: apiKey, OPENAI_API_KEY: 'sk-proj-0123456789abcdefghijklmnopqrstuvwxyz' }

function messagesModel({ anthropic }, base) {
  return anthropic({ model: 'm', baseUrl: base, apiKey })
}

function chatModel({ openaiCompatible }, base) {
  return openaiCompatible({ model: 'm', baseUrl: `${base}/v1`, apiKey })
}

function responsesModel({ openaiResponses }, base) {
  return openaiResponses({ model: 'm', baseUrl: `${base}/v1`, apiKey })
}

/** The ways of halting to read a protocol, by the function that makes the model. */
function haltingWays(modelOf) {
  const way = (readWith) => async (base, _protocol, bundled) => {
    const halting = await import(bundled)
    return readWith(halting, modelOf(halting, base))
  }
  return {
    halting: way((_halting, model) => haltingWith(model)),
    // As sessions of the program read it: the text that streams contains no secret of this program.
    [redacted]: way((halting, model) => haltingWith(halting.withRedactedStream(model, keys))),
    [queried]: way(queryWith),
  }
}

/** A whole run whose host gets each event of the service. */
function queryWith({ query }, model) {
  return async () => {
    let text = ''
    const options = { model, tools: [], includePartialMessages: true, maxTurns: 1 }
    for await (const message of query({ prompt: 'hi', options })) {
      if (message.type === 'stream_event') text += message.event.delta?.text ?? ''
    }
    return checked(text)
  }
}

const anthropicBody = { model: 'm', max_tokens: 32_000, messages: [{ role: 'user', content: 'hi' }] }

async function anthropicClient(base) {
  const { default: Anthropic } = await import('@anthropic-ai/sdk')
  return new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 })
}

async function anthropicEvents(base) {
  const client = await anthropicClient(base)
  return async () => {
    let text = ''
    for await (const event of await client.messages.create({ ...anthropicBody, stream: true })) text += event.delta?.text ?? ''
    return checked(text)
  }
}

async function anthropicMessage(base) {
  const client = await anthropicClient(base)
  return async () => checked((await client.messages.stream(anthropicBody).finalMessage()).content[0].text)
}

const openaiBody = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }

async function openaiClient(base) {
  const { default: OpenAI } = await import('openai')
  return new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
}

async function openaiChunks(base) {
  const client = await openaiClient(base)
  return async () => {
    let text = ''
    for await (const chunk of await client.chat.completions.create({ ...openaiBody, stream: true })) text += chunk.choices[0]?.delta?.content ?? ''
    return checked(text)
  }
}

async function openaiMessage(base) {
  const client = await openaiClient(base)
  return async () => checked((await client.chat.completions.stream(openaiBody).finalChatCompletion()).choices[0].message.content)
}

async function openaiEvents(base) {
  const client = await openaiClient(base)
  return async () => {
    let text = ''
    for await (const event of await client.responses.create({ model: 'm', input: 'hi', stream: true })) text += textIn(event)
    return checked(text)
  }
}

const piContext = { messages: [{ role: 'user', content: 'hi', timestamp: 0 }] }

function piModel(api, baseUrl) {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  return { id: 'm', name: 'm', api, provider: 'p', baseUrl, reasoning: false, input: ['text'], cost, contextWindow: 200_000, maxTokens: 32_000 }
}

function piWith(start) {
  return async () => {
    const { content, errorMessage } = await start().result()
    if (errorMessage !== undefined) throw new Error(errorMessage)
    return checked(content[0].text)
  }
}

async function piMessages(base) {
  const { stream } = await import('@earendil-works/pi-ai/api/anthropic-messages')
  return piWith(() => stream(piModel('anthropic-messages', base), piContext, { apiKey: 'k' }))
}

async function piChat(base) {
  const { stream } = await import('@earendil-works/pi-ai/api/openai-completions')
  return piWith(() => stream(piModel('openai-completions', `${base}/v1`), piContext, { apiKey: 'k' }))
}

/** Sends one text in as many pieces as there have to be events. */
function serve(count) {
  const frame = (event) => `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`
  const usage = { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null, usage }
  const messages = [
    frame({ type: 'message_start', message }),
    frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...Array.from({ length: count }, () => frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } })),
    frame({ type: 'content_block_stop', index: 0 }),
    frame({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }),
    frame({ type: 'message_stop' }),
  ]
  const chunk = (delta, finish_reason = null) => frame({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })
  const chat = [
    chunk({ role: 'assistant', content: '' }),
    ...Array.from({ length: count }, () => chunk({ content: words })),
    chunk({}, 'stop'),
    frame({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } }),
    'data: [DONE]\n\n',
  ]
  const bodies = { messages: Buffer.from(messages.join('')), chat: Buffer.from(chat.join('')), responses: Buffer.from(responsesFrames(count, frame).join('')) }
  const server = createServer((incoming, response) => {
    incoming.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(incoming.url.includes('chat') ? bodies.chat : incoming.url.includes('responses') ? bodies.responses : bodies.messages)
  })
  server.listen(0, '127.0.0.1', () => process.send(server.address().port))
  process.once('disconnect', () => process.exit())
}

function responsesFrames(count, frame) {
  const text = words.repeat(count)
  const id = 'msg_0a63f40a2632b74300699f8819a5e08196ac270722d369af5a'
  const at = { item_id: id, output_index: 0, content_index: 0 }
  const part = { type: 'output_text', annotations: [], logprobs: [], text }
  const item = { id, type: 'message', status: 'completed', role: 'assistant', content: [part] }
  const response = { id: 'resp_1', object: 'response', created_at: 1, status: 'in_progress', model: 'm', output: [], usage: null }
  const usage = { input_tokens: 10, output_tokens: 1, total_tokens: 11 }
  const events = [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    ...Array.from({ length: count }, () => ({ type: 'response.output_text.delta', ...at, delta: words, logprobs: [] })),
    { type: 'response.output_text.done', ...at, text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
  ]
  return events.map((event, sequence_number) => frame({ ...event, sequence_number }))
}

const sourceOf = (path) => fileURLToPath(new URL(`../packages/core/src/${path}`, import.meta.url))

/** The adapters from their sources, as one module to import. */
async function bundledSources() {
  const { outputFiles } = await build({
    stdin: {
      contents: `export * from './packages/models/src/index.ts'\nexport { query } from './packages/core/src/index.ts'`,
      resolveDir: fileURLToPath(new URL('..', import.meta.url)),
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['undici'],
    // The longer name first: an alias also applies to names that begin with it.
    alias: { '@halting/core/adapters': sourceOf('entries/adapters.ts'), '@halting/core': sourceOf('index.ts') },
  })
  return `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
}

if (kind === 'serve') serve(Number(parameters[0]))
else if (kind === 'child') process.stdout.write(JSON.stringify(await measure(...parameters)))
else await report()
