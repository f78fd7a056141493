// Sessions on a real engine, used by the ingress alone and by the client. Run by scripts/cluster.mjs on a Node version that the SDK supports: sessions.mjs SERVER FOLDER
import { deepStrictEqual, ok, strictEqual } from 'node:assert'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Session, SessionEvent } from '@halting/core/session'
import type { SdkMessage } from '@halting/core'
import { createClusterClient } from '../../src/client/cluster-client.ts'
import { Cluster, wait } from './server.ts'
import { Workers, type WorkerProcess } from './workers.ts'

const [program = '', folder = ''] = process.argv.slice(2)
const liveUrls = new Map<WorkerProcess, string>()
const workers = await Workers.start(
  {
    program: fileURLToPath(new URL('sessions-worker.mjs', import.meta.url)),
    logFile: join(folder, 'workers.log'),
    onMessage: (worker, message) => liveUrls.set(worker, (message as { readonly live: string }).live),
  },
  2,
)
const cluster = await Cluster.start(program, folder, 1)
await cluster.register(workers.url)
const client = createClusterClient({ ingress: cluster.ingress(), worker: { token: 'secret' } })

interface Answer {
  readonly status: number
  readonly body: unknown
}

async function ask(key: string, handler: string, input?: unknown): Promise<Answer> {
  const response = await fetch(`${cluster.ingress()}/halting_session/${key}/${handler}`, {
    method: 'POST',
    ...(input !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(input) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

function listened(session: Session): SessionEvent[] {
  const events: SessionEvent[] = []
  session.listen((event) => events.push(event))
  return events
}

/** The conversation, with authors and uuids: the usage at the beginning and at the end of a reply may differ. */
function conversationIn(events: readonly SessionEvent[]): readonly unknown[] {
  return events.flatMap((event) => (event.type === 'message' ? saidBy(event.message) : []))
}

function saidBy(message: SdkMessage): readonly unknown[] {
  if (message.type === 'assistant' || message.type === 'user')
    return [{ type: message.type, uuid: message.uuid, content: message.message.content }]
  return message.type === 'result' ? [{ type: 'result', uuid: message.uuid, reason: message.terminal_reason }] : []
}

async function until(is: () => boolean): Promise<void> {
  for (let left = 2_000; !is(); left--) {
    if (left === 0) throw new Error(`It never came: ${is.toString()}`)
    await wait(10)
  }
}

const lines: string[] = []
async function check(title: string, body: () => Promise<void>): Promise<void> {
  const began = Date.now()
  await body()
  lines.push(`${title} (${Date.now() - began} ms)`)
}

await check('requests by names of their own, each counts once', async () => {
  const prompt = { id: 'p1', content: 'hello', opening: { turns: 1 } }
  deepStrictEqual(await ask('named', 'prompt', prompt), { status: 200, body: { id: 'p1', isNew: true } })
  deepStrictEqual(await ask('named', 'prompt', prompt), { status: 200, body: { id: 'p1', isNew: false } })
  const answer = (await client.result('named', 'p1', { wait: true })) as { readonly state: string }
  strictEqual(answer.state, 'answered')
  const { reason, turns, isWorking } = await client.status('named')
  deepStrictEqual({ reason, turns, isWorking }, { reason: 'completed', turns: 2, isWorking: false })
  strictEqual((await client.done('named'))?.results.length, 1)
  deepStrictEqual(await client.result('named', 'nobody'), { state: 'unknown' })
  deepStrictEqual(await client.result('named', 'nobody', { wait: true }), { state: 'unknown' })
})

await check('bad input has an answer, and nothing is lost', async () => {
  for (const [handler, input] of [
    ['prompt', {}],
    ['prompt', { content: '' }],
    ['prompt', { content: 'x', wrong: 1 }],
    ['request', { id: 'x', request: { type: 'nothing' } }],
    ['setLimits', {}],
    ['records', -1],
    ['result', {}],
  ] as const) {
    const { status, body } = await ask('named', handler, input)
    strictEqual(status, 400, `${handler} ${JSON.stringify(body)}`)
  }
  strictEqual((await client.status('named')).waiting, 0)
})

await check('after a worker is killed in mid-stream, the client emits what the records alone give', async () => {
  const session = client.session('cut', { turns: 3, pieceMs: 50 })
  const events = listened(session)
  session.prompt('go on', { id: 'p' })
  const deltas = (): number =>
    events.filter((event) => event.type === 'loop' && event.event.type === 'model_update').length
  // In the middle of the second reply.
  await until(() => deltas() > 28)
  const answered = client.result('cut', 'p', { wait: true })
  const { live } = await client.status('cut')
  const worker = workers.ready.find((each) => liveUrls.get(each) === live)
  ok(worker)
  await workers.kill(worker)
  const before = deltas()
  await session.settled()
  ok(deltas() > before, 'it is live again')
  strictEqual(session.snapshot.status, 'idle')
  strictEqual(session.snapshot.last?.reason, 'completed')
  strictEqual(((await answered) as { readonly state: string }).state, 'answered')
  const since = client.session('cut', undefined, { since: 0 })
  const read = listened(since)
  await since.settled()
  const conversation = conversationIn(events)
  deepStrictEqual(conversation, conversationIn(read))
  strictEqual(conversation.length, 3 * 3 + 2, JSON.stringify(conversation))
  strictEqual(events.filter(({ type }) => type === 'run_start').length, 1)
  strictEqual(events.filter(({ type }) => type === 'run_end').length, 1)
  await session.close()
  await since.close()
})

await check('a question is asked, and answered by the client; another is stopped', async () => {
  const session = client.session('asked', { turns: 1, asks: true })
  const events = listened(session)
  session.prompt('may you?')
  await until(() => session.snapshot.questions.length > 0)
  // Unknown requests are not waited for, even while a worker is at work.
  deepStrictEqual(await client.result('asked', 'nobody', { wait: true }), { state: 'unknown' })
  const [question] = session.snapshot.questions
  ok(question)
  ok(session.answer(question.id, { behavior: 'allow' }))
  ok(!session.answer(question.id, { behavior: 'allow' }))
  await session.settled()
  strictEqual(session.snapshot.last?.reason, 'completed')
  ok(conversationIn(events).length >= 4)
  session.prompt('again')
  await until(() => session.snapshot.questions.length > 0)
  strictEqual(session.interrupt().wasRunning, true)
  await session.settled()
  strictEqual(session.snapshot.last?.reason, 'aborted_tools')
  await session.close()
})

await check('a wait goes on over the end of its connection, as one call, of which nothing is left', async () => {
  await ask('long', 'prompt', { id: 'p', content: 'go on', opening: { turns: 1, pieceMs: 100 } })
  const waits = async (signal?: AbortSignal): Promise<unknown> => {
    const response = await fetch(`${cluster.ingress()}/halting_session/long/result`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'one' },
      body: JSON.stringify({ id: 'p', wait: true }),
      ...(signal !== undefined && { signal }),
    })
    return response.json()
  }
  const calls = async (): Promise<number> => {
    const query =
      "select count(*) as count from sys_invocation where target_handler_name = 'result' and target_service_key = 'long'"
    return Number((await cluster.query(query))[0]?.['count'])
  }
  const cut = new AbortController()
  const first = waits(cut.signal).catch(() => 'cut')
  await wait(500)
  cut.abort()
  strictEqual(await first, 'cut')
  const second = waits()
  await wait(500)
  strictEqual(await calls(), 1)
  strictEqual(((await second) as { readonly state: string }).state, 'answered')
  for (let left = 50; (await calls()) > 0; left--) {
    if (left === 0) throw new Error('The call is kept.')
    await wait(100)
  }
})

await check('a fork has the conversation, and a closed session takes nothing more', async () => {
  const id = await client.fork('named')
  strictEqual(await client.fork('named', id), id)
  await client.close('named')
  const { status } = await ask('named', 'prompt', { content: 'more' })
  strictEqual(status, 409)
  strictEqual((await client.status('named')).isClosed, true)
  const fork = client.session(id)
  fork.prompt('and on', { id: 'p2' })
  await fork.settled()
  strictEqual(fork.snapshot.last?.reason, 'completed')
  const ended = (await client.records(id)).filter((record) => record.type === 'end' && record.scope === '')
  strictEqual(ended.length, 2)
  await fork.close()
})

console.log(lines.join('; '))
await workers.stop()
await cluster.stop()
process.exit(0)
