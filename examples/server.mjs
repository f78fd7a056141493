// examples/server.mjs
import { existsSync, mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { resume, startRun, streamRun, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { modelMessagesOf, recordedEvents, shareRun, sseHeaders, toSse, toUIMessageStream } from '@halting/core/ui'
import { openJournal, readJournal } from '@halting/journal'

/** `mayUse(request, id)` returns whether the sender of the request may use a chat, since ids are not secret. */
export function chatServer(folder, options, mayUse = async () => true) {
  const open = new Map()
  const pathOf = (id) => join(folder, `${encodeURIComponent(id)}.jsonl`)
  const runsOf = async (id) => (existsSync(pathOf(id)) ? (await readJournal(pathOf(id))).runs : [])

  /** Starts a run with a prompt, or resumes the one that a killed process left. */
  async function runIn(session, records, prompt) {
    if (session.open === undefined) {
      const start = startRun({ prompt, transcript: session.transcript, sessionId: session.sessionId })
      return { run: streamRun(start, { ...options, steps: session.steps() }), past: [] }
    }
    const past = await recordedEvents(records, options)
    return { run: resume(session.open, options, session.transcript, session.log).loop, past }
  }

  async function start(id, prompt) {
    const records = (await runsOf(id)).flat()
    const session = await openJournal({ path: pathOf(id), sessionId: id, cwd: folder, version: '1' })
    const { run, past } = await runIn(session, records, prompt).catch(async (error) => {
      await session.close()
      throw error
    })
    const shared = shareRun(run, { past, flush: () => session.log.flush() })
    const chat = { run, shared, isOver: false }
    chat.closed = shared.done.then(() => (chat.isOver = true)).then(() => session.close())
    chat.closed = chat.closed.catch(console.error)
    // Once a client has received a response, it can reconnect after any kill: the run is on disk.
    for await (const { type } of shared) if (type === 'run_start') break
    return chat
  }

  /** From here on, other requests get this run, even before it has started. */
  function begin(id, prompt) {
    const chat = start(id, prompt)
    open.set(id, chat)
    const forget = () => open.delete(id)
    chat.then(({ closed }) => closed).then(forget, forget)
    return chat
  }

  /** Finds the run of a chat that is in progress, including one that a killed process left. */
  async function going(id) {
    const chat = await open.get(id)
    if (chat?.isOver === false) return chat
    await chat?.closed
    const isLeft = (await runsOf(id)).at(-1)?.every(({ type, scope }) => type !== 'end' || scope !== '')
    return open.get(id) ?? (isLeft === true ? begin(id) : undefined)
  }

  /** Waits until the run ends or the client disconnects. */
  function send(response, events, after) {
    const bytes = toSse(toUIMessageStream(events, { after }), { heartbeatMs: 15_000 })
    return pipeline(Readable.fromWeb(bytes), response.writeHead(200, sseHeaders))
  }

  async function get(response, id, after) {
    const chat = await going(id)
    if (chat !== undefined) return send(response, chat.shared, after)
    const records = after === undefined ? [] : (await runsOf(id)).flat()
    if (records.length === 0) return response.writeHead(204).end()
    return send(response, await recordedEvents(records, options), after)
  }

  /** The first answer counts. A chat that a killed process left asks again, and takes it. */
  async function approve(response, id, { approvalId, approved }) {
    if (typeof approvalId !== 'string') throw refusal(400)
    const chat = await going(id)
    const denied = { behavior: 'deny', message: 'The person said no.' }
    chat?.run.answer(approvalId, approved === true ? { behavior: 'allow' } : denied)
    response.writeHead(chat === undefined ? 404 : 204).end()
  }

  async function post(response, id, { messages, stopsWithClient }) {
    const prompt = promptIn(messages)
    // The page reconnects to the run in progress, and sends its message after that run.
    if ((await going(id)) !== undefined || open.has(id)) throw refusal(409)
    const { shared } = await begin(id, prompt)
    await send(response, shared).catch(() => stopsWithClient === true && shared.abort())
  }

  async function answer(request, response) {
    try {
      const [, , , inPath, action] = (request.url ?? '').split('/').map(decoded)
      if (request.method !== 'GET' && request.method !== 'POST') throw refusal(405)
      const body = request.method === 'GET' ? {} : await bodyOf(request)
      const id = inPath ?? body.id
      if (typeof id !== 'string' || id === '' || !id.isWellFormed() || encodeURIComponent(id).length > 200)
        throw refusal(400)
      if (!(await mayUse(request, id))) throw refusal(403)
      if (request.method === 'GET') await get(response, id, request.headers['last-event-id'])
      else if (action === 'approve') await approve(response, id, body)
      else await post(response, id, body)
    } catch (error) {
      if (response.headersSent) return response.destroy()
      const { status = 500 } = error
      if (status === 500) console.error(error)
      // The text of an error can name files and services, so clients do not receive it.
      response.writeHead(status, { connection: 'close' }).end()
    }
  }

  return createServer((request, response) => void answer(request, response))
}

const refusal = (status) => Object.assign(new Error(`refused: ${status}`), { status })

function decoded(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    throw refusal(400)
  }
}

/** Accepts the new message of `useChat` only: the rest of the conversation is on the server. */
function promptIn(messages) {
  try {
    const [message] = modelMessagesOf(messages.slice(-1))
    if (message.role === 'user') return message.content
  } catch {
    // The body is not a list of messages.
  }
  throw refusal(400)
}

/** Requires the JSON content type: a form on another site sends a different one. */
async function bodyOf(request) {
  if (!request.headers['content-type']?.startsWith('application/json')) throw refusal(415)
  let text = ''
  for await (const part of request.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += part
    if (text.length > 1_000_000) throw refusal(413)
  }
  try {
    return Object(JSON.parse(text))
  } catch {
    throw refusal(400)
  }
}

const remove = tool({ name: 'Delete', description: 'Deletes a file', execute: () => 'deleted' })
const asks = { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'Delete old.txt?' }) }
const later = () => new Promise((resolve) => setTimeout(resolve, 200))
const replies = [
  { text: 'I look.', toolCalls: [{ name: 'Delete', input: { path: 'old.txt' } }], before: later },
  'It is gone.',
]
const model = scriptedModel(({ messages }) => replies[messages.filter(({ role }) => role === 'assistant').length % 2])
const options = { model, tools: [remove], permissions: asks, onAsk: 'wait' }

const folder = process.env.CHAT_FOLDER ?? mkdtempSync(join(tmpdir(), 'chats-'))
const server = chatServer(folder, options).listen(Number(process.env.CHAT_PORT ?? 0), '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const api = `http://127.0.0.1:${server.address().port}/api/chat`

/** Reads events until `until` matches one, and disconnects. */
async function read(response, until) {
  let [all, id] = ['', '']
  for await (const bytes of response.body) {
    all += Buffer.from(bytes).toString()
    id =
      all
        .match(/^id: (.+)$/gm)
        ?.at(-1)
        ?.slice(4) ?? id
    if (all.includes(until)) break
  }
  const [, approvalId] = all.match(/"approvalId":"([^"]+)"/) ?? []
  return { id, approvalId, text: [...all.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta).join('') }
}

if (process.env.CHAT_FOLDER === undefined) {
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Tidy up.' }] }
  const headers = { 'content-type': 'application/json' }
  const post = (path, body) => fetch(`${api}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const first = await read(await post('', { id: 'a', messages: [message] }), 'approval-request')
  console.log(`read: ${first.text}, and left`)
  const again = await fetch(`${api}/a/stream`, { headers: { 'last-event-id': first.id } })
  const rest = read(again, '"finish"')
  console.log(`approved: ${(await post('/a/approve', { approvalId: first.approvalId, approved: true })).status}`)
  console.log(`read: ${(await rest).text}`)
  server.close()
} else console.log(`listening ${api}`)
