// Clients of a session that are killed or terminated: the run continues, and a client that reconnects receives everything once (R-FOLL-2 to R-FOLL-6). Run by scripts/cluster.mjs:
// clients.mjs SERVER FOLDER
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { demand, type Program, Programs, until } from './programs.ts'
import { Cluster, freePort, wait } from './server.ts'
import { linesOf, SessionsOf, writeScript } from './sessions-of.ts'

const [server = '', folder = ''] = process.argv.slice(2)
const programs = new Programs(folder)
const cluster = await Cluster.start(server, folder, 1)
const sessions = new SessionsOf(cluster)
const effects = join(folder, 'effects.txt')
const command = `echo "\${PWD##*/}" >> '${effects}'; sleep 1`
const script = writeScript(join(folder, 'script.json'), command, command, command, command)
/** Ids of sessions in a readable form. */
const idOf = (name: number): string => `00000000-0000-4000-8000-${String(name).padStart(12, '0')}`
const reportPromise = (words: string): void => console.log(`kept: ${words}`)

/** Counts a worker's requests to the admin API. */
let adminRequests = 0
const admin = createServer((request, response) => {
  adminRequests++
  void (async () => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const { method = 'GET', url = '/', headers } = request
    const type = headers['content-type']
    const answer = await fetch(`${cluster.admin()}${url}`, {
      method,
      headers: { accept: 'application/json', ...(type !== undefined && { 'content-type': type }) },
      ...(method !== 'GET' && { body: Buffer.concat(chunks) }),
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })().catch((error: unknown) => response.writeHead(502).end(String(error)))
})
await new Promise<void>((listens) => admin.listen(0, '127.0.0.1', listens))
const counted = `http://127.0.0.1:${(admin.address() as AddressInfo).port}`

const client = (session: string, ...args: readonly string[]): Program =>
  programs.halting([
    '-p',
    ...args,
    '--cluster',
    cluster.ingress(),
    '--admin',
    cluster.admin(),
    '--output-format',
    'stream-json',
    '--verbose',
    ...(session === '' ? [] : ['--resume', session]),
  ])
const countOf = (session: string): number => linesOf(effects).filter((name) => name === session).length

interface Line {
  readonly type: string
  readonly uuid?: string
  readonly result?: string
  readonly message?: { readonly content: readonly { readonly type: string; readonly tool_use_id?: string }[] }
}

/** What a client printed, without its notes for people. */
function linesIn({ output: said }: Program): readonly Line[] {
  return said
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line)
}

/** Each message once, and the ending. */
function demandOnce(program: Program, who: string, result = 'All done.'): void {
  const lines = linesIn(program)
  const names = lines.flatMap(({ type, uuid }) => (type === 'assistant' || type === 'user' ? [uuid] : []))
  demand(new Set(names).size === names.length, `${who} received something twice: ${program.output}`)
  const results = lines.filter(({ type }) => type === 'result')
  demand(results.length === 1 && results[0]?.result === result, `${who} has another result: ${program.output}`)
}

const begun = async (session: string, count = 1): Promise<void> =>
  until(
    () => countOf(session) >= count,
    () => `${session} does nothing.`,
  )

const [followed, killed, cut] = [idOf(4), idOf(5), idOf(6)]

try {
  const where = ['--restate', cluster.ingress(), '--admin', counted, '--register', '--port', String(await freePort())]
  const startWorker = (): Program =>
    programs.halting(['serve', ...where, '--script', script, '--permission-mode', 'bypassPermissions'])
  let worker = startWorker()
  await worker.says('serving at')

  // One client is killed and one terminated during the run.
  for (const [session, signal, code] of [
    [idOf(1), 'SIGKILL', 'SIGKILL'],
    [idOf(2), 'SIGTERM', 143],
    [idOf(3), 'SIGHUP', 129],
  ] as const) {
    const first = client('', 'Go.', '--session-id', session)
    await begun(session)
    const ended = await first.kill(signal)
    demand(ended === code, `After ${signal} the client ended with ${ended}: ${first.output}`)
    if (signal !== 'SIGKILL')
      demand(first.output.includes(`--resume ${session}`), `After ${signal} it says: ${first.output}`)
    await begun(session, 2)
    const second = client(session)
    const status = await second.ended()
    demand(status === 0, `Who came back to ${session} ended with ${status}: ${second.output}`)
    demandOnce(second, `Who came back to ${session}`)
    await sessions.over(session)
    demand(countOf(session) === 4, `${session} did ${countOf(session)} of 4 calls.`)
    reportPromise(
      `after ${signal} the run went on by itself, 4 of 4 calls once; who came back has its end, exit code ${code}`,
    )
  }

  // Without followers; the client reads all of it afterwards.
  const whole = await programs.run(['why', idOf(1), '--cluster', cluster.ingress(), '--admin', cluster.admin()])
  demand(whole.includes('completed'), `halting why says: ${whole}`)

  // Ten clients follow one session; five are killed.
  const first = client('', 'Go.', '--session-id', followed)
  await begun(followed)
  const followers = [first, ...Array.from({ length: 9 }, () => client(followed))]
  await begun(followed, 2)
  await wait(500)
  await Promise.all(followers.slice(5).map((follower) => follower.kill()))
  const began = Date.now()
  for (const [index, follower] of followers.slice(0, 5).entries()) {
    const status = await follower.ended()
    demand(status === 0, `Follower ${index} ended with ${status}: ${follower.output}`)
    demandOnce(follower, `Follower ${index}`)
  }
  await sessions.over(followed)
  demand(countOf(followed) === 4, `The followed session did ${countOf(followed)} of 4 calls.`)
  const results = linesIn(first).flatMap(({ type, message }) => (type === 'user' ? (message?.content ?? []) : []))
  demand(results.filter(({ type }) => type === 'tool_result').length === 4, `The first received: ${first.output}`)
  reportPromise(
    `ten follow one session, five are killed: the others received each message once and the ending (${Date.now() - began} ms later)`,
  )

  // Status requests cause no requests to the admin API, however many there are.
  const before = adminRequests
  const asking = Date.now()
  for (let at = 0; at < 200; at++) await sessions.status(followed)
  const looks = adminRequests - before
  const looksOfWorker = 4 * (Math.ceil((Date.now() - asking) / 2_000) + 1)
  demand(looks <= looksOfWorker, `200 statuses came with ${looks} requests to the administration.`)
  reportPromise(
    `200 statuses in ${Date.now() - asking} ms, and ${looks} requests to the administration, which are those of the worker`,
  )

  // The worker and the engine are killed: clients report it once and continue.
  const patient = client('', 'Go.', '--session-id', killed)
  await begun(killed)
  await worker.kill()
  const since = Date.now()
  await patient.says('no worker responds')
  const reportedAfterMs = Date.now() - since
  worker = startWorker()
  await patient.says('responds again')
  const status = await patient.ended()
  demand(status === 0 && countOf(killed) === 1, `The patient client ended with ${status}: ${patient.output}`)
  demandOnce(patient, 'The patient client', 'One is unknown.')
  demand(patient.output.split('no worker responds').length === 2, `It says more than once: ${patient.output}`)
  reportPromise(
    `a worker is killed: its client says so once, after ${reportedAfterMs} ms, says that the cluster responds again, and has the end`,
  )

  const lost = client('', 'Go.', '--session-id', cut)
  await begun(cut)
  await cluster.kill()
  const again = await lost.ended()
  demand(again === 0 && countOf(cut) === 1, `Over the end of the engine the client ended with ${again}: ${lost.output}`)
  // The call that was running then is reported to the model as unknown, and not made again.
  demandOnce(lost, 'The client over the end of the engine', 'One is unknown.')
  const output = lost.output.split('\n').filter((line) => line.startsWith('halting: ') && !line.includes('session'))
  reportPromise(
    `the engine is killed and begins again: the client has the end; on the way it said: ${output.join(' ') || 'nothing'}`,
  )
} catch (error) {
  console.error(await cluster.unfinished())
  throw error
} finally {
  await programs.end()
  admin.closeAllConnections()
  admin.close()
  await cluster.stop()
}
