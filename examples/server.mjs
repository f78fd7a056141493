// examples/server.mjs
import { existsSync, mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { resume, startRun, streamRun, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { recordedEvents, shareRun, sseHeaders, toSse, toUIMessageStream } from '@halting/core/ui'
import { openJournal, readJournal } from '@halting/journal'

export function chatServer(folder, options) {
  const open = new Map()
  const pathOf = (id) => join(folder, `${encodeURIComponent(id)}.jsonl`)

  /** Begins a run with a prompt, or continues the one that a killed process left. */
  async function begin(id, prompt) {
    const records = existsSync(pathOf(id)) ? (await readJournal(pathOf(id))).runs.flat() : []
    const session = await openJournal({ path: pathOf(id), sessionId: id, cwd: folder, version: '1' })
    const isOpen = session.open !== undefined
    const past = isOpen ? await recordedEvents(records, options) : []
    const run = isOpen
      ? resume(session.open, options, session.transcript, session.log).loop
      : streamRun(startRun({ prompt, transcript: session.transcript, sessionId: id }), {
          ...options,
          steps: session.steps(),
        })
    const shared = shareRun(run, { past })
    open.set(id, { run, shared })
    void shared.done.then(() => session.close()).then(() => open.delete(id))
    // A client that is answered can come back after any kill: the run is on disk.
    for await (const { type } of shared) if (type === 'run_start') break
    await session.log.flush()
    return shared
  }

  /** The run of a chat that a client comes back to: here, left by a process that was killed, or over. */
  async function find(id, after) {
    if (open.has(id)) return open.get(id).shared
    const { runs } = existsSync(pathOf(id)) ? await readJournal(pathOf(id)) : { runs: [] }
    if (runs.length === 0) return undefined
    const isOver = runs.at(-1).some(({ type, scope }) => type === 'end' && scope === '')
    if (!isOver) return begin(id)
    return after === undefined ? undefined : recordedEvents(runs.flat(), options)
  }

  function send(response, events, after) {
    const bytes = Readable.fromWeb(toSse(toUIMessageStream(events, { after }), { heartbeatMs: 15_000 }))
    response.writeHead(200, sseHeaders).on('close', () => bytes.destroy())
    bytes.on('error', () => response.destroy()).pipe(response)
  }

  return createServer(async (request, response) => {
    try {
      const [, , , id = '', action] = (request.url ?? '').split('/').map(decodeURIComponent)
      const after = request.headers['last-event-id']
      if (request.method === 'GET') {
        const events = await find(id, after)
        return events === undefined ? response.writeHead(204).end() : send(response, events, after)
      }
      const body = await json(request)
      if (action === 'approve') {
        const decision =
          body.approved === true ? { behavior: 'allow' } : { behavior: 'deny', message: 'The person said no.' }
        open.get(id)?.run.answer(body.approvalId, decision)
        return response.writeHead(open.has(id) ? 204 : 404).end()
      }
      if (open.has(body.id)) return response.writeHead(409).end()
      const parts = body.messages.at(-1).parts
      const events = await begin(body.id, parts.map((part) => part.text ?? '').join(''))
      if (body.stopsWithClient === true) response.on('close', () => events.abort())
      send(response, events)
    } catch (error) {
      console.error(error)
      if (!response.headersSent) response.writeHead(500).end()
    }
  })
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

/** Reads events until one says `until`, and leaves. */
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
  const post = (path, body) => fetch(`${api}${path}`, { method: 'POST', body: JSON.stringify(body) })
  const first = await read(await post('', { id: 'a', messages: [message] }), 'approval-request')
  console.log(`read: ${first.text}, and left`)
  const again = await fetch(`${api}/a/stream`, { headers: { 'last-event-id': first.id } })
  const rest = read(again, '"finish"')
  console.log(`approved: ${(await post('/a/approve', { approvalId: first.approvalId, approved: true })).status}`)
  console.log(`read: ${(await rest).text}`)
  server.close()
} else console.log(`listening ${api}`)
