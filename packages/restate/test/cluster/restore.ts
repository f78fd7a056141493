// Restores an older backup: sessions that ran, rested and were finished, large ones with payloads, a copy of the data folders, further work, and then the copy. Run by
// scripts/cluster.mjs: restore.mjs SERVER FOLDER; growth-worker.mjs is in the same folder.
import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { StepRecord } from '@halting/core/steps'
import type { StoredRecord } from '../../src/engine/packed-record.ts'
import { GrowthWorker, isOver, checkPromise, noted, reaches } from './growing.ts'
import { Cluster, freePort, wait } from './server.ts'
import { SessionOnCluster } from './session-on-cluster.ts'

const [program = '', folder = ''] = process.argv.slice(2)
const log = join(folder, 'log')
const [live, copy] = [join(folder, 'live'), join(folder, 'copy')]
const payloads = join(folder, 'payloads')
for (const path of [live, payloads]) mkdirSync(path)
const port = await freePort()
let cluster = await Cluster.start(program, live, 1)
let worker = new GrowthWorker(port, log, cluster.admin())
const session = (name: string): SessionOnCluster => new SessionOnCluster(cluster, name)
const answer = { behavior: 'allow' } as const

async function begin(): Promise<void> {
  worker = new GrowthWorker(port, log, cluster.admin())
  worker.start(payloads, '60')
  await cluster.register(`http://127.0.0.1:${port}`)
}

async function end(): Promise<void> {
  await worker.kill()
  await cluster.stop()
}

/** Calls that a record shows as begun, and those whose outcome it has. */
function callsOf(records: readonly StepRecord[]): {
  readonly begun: readonly string[]
  readonly done: readonly string[]
} {
  const names = (type: StepRecord['type']): readonly string[] =>
    records.flatMap((record) =>
      record.type === type && 'key' in record && record.key.includes('/tool:')
        ? [record.key.replace(/^.*\/tool:\d+:\d+:/, '')]
        : [],
    )
  return { begun: names('intent'), done: names('result') }
}

/** Queries the engine, also right after its start, when parts of it are not available yet. */
async function query(what: string): Promise<readonly Record<string, unknown>[]> {
  for (let left = 60; ; left--) {
    try {
      return await cluster.query(what)
    } catch (error) {
      if (left === 0) throw error
      await wait(250)
    }
  }
}

/** Records in the engine, also if no worker runs: long texts are elsewhere. */
async function storedRecords(name: string): Promise<readonly StepRecord[]> {
  const rows = await query(
    `SELECT value_utf8 FROM state WHERE service_name = 'halting_session' AND service_key = '${name}' AND key LIKE 'records/%' ORDER BY key`,
  )
  return rows.flatMap(({ value_utf8 }) => {
    // `WorkRecord` wrote it.
    const { records } = JSON.parse(String(value_utf8)) as { readonly records: readonly StoredRecord[] }
    return records.flatMap((record) =>
      record.type === 'packed' ? [record.record] : record.type === 'payload' ? [] : [record],
    )
  })
}

const names = ['runs', 'rests', 'over', 'large'] as const
try {
  await begin()
  await session('over').ask('p1', { type: 'prompt', content: 'go' }, { turns: 3 })
  await session('large').ask('p1', { type: 'prompt', content: 'go' }, { turns: 60, bytes: 300_000, toolMs: 100 })
  await session('runs').ask('p1', { type: 'prompt', content: 'go' }, { turns: 80, toolMs: 100 })
  await session('rests').ask('p1', { type: 'prompt', content: 'go' }, { turns: 2, asks: true })
  await reaches(session('over'), isOver)
  const asks = await reaches(session('rests'), ({ state }) => state === 'requires_action')
  await reaches(session('large'), ({ turns }) => turns > 8)
  await reaches(session('runs'), ({ turns }) => turns > 8)

  // The copy, while nothing runs.
  await end()
  cpSync(live, copy, { recursive: true })
  cluster = await Cluster.start(program, live, 1)
  await begin()
  const then = new Map<string, readonly StepRecord[]>()
  // Further work, which no record of the copy has.
  const callId = asks.questions[0]?.callId ?? ''
  await session('rests').ask('a1', { type: 'answer', callId, answer })
  await session('over').ask('p2', { type: 'prompt', content: 'more' })
  await reaches(session('over'), (status) => isOver(status) && status.runId === 'run2')
  await reaches(session('large'), ({ turns }) => turns > 16)
  await reaches(session('runs'), ({ turns }) => turns > 16)
  await end()
  const lost = new Map(names.map((name) => [name, noted(log, 'did', name)]))

  // The older copy replaces the data.
  renameSync(live, join(folder, 'newer'))
  cluster = await Cluster.start(program, copy, 1)
  for (const name of names) then.set(name, await storedRecords(name))
  await begin()
  const question = await reaches(session('rests'), ({ state }) => state === 'requires_action')
  checkPromise(
    question.questions[0]?.callId === callId,
    'a session that rested asks again what was answered after the copy',
  )
  await session('rests').ask('a1', { type: 'answer', callId, answer })
  const second = await reaches(
    session('rests'),
    ({ questions }) => questions.length > 0 && questions[0]?.callId !== callId,
  )
  await session('rests').ask('a2', { type: 'answer', callId: second.questions[0]?.callId ?? '', answer })
  for (const name of ['runs', 'large', 'rests']) await reaches(session(name), isOver)
  checkPromise((await session('over').status()).runId === 'run1', 'a prompt that was sent after the copy is not there')
  await session('over').ask('p2', { type: 'prompt', content: 'more' })
  await reaches(session('over'), (status) => isOver(status) && status.runId === 'run2')
  checkPromise(true, 'sent again, under the same id, it is answered')

  let repeated = 0
  let unknown = 0
  for (const name of names) {
    const inCopy = callsOf(then.get(name) ?? [])
    const did = noted(log, 'did', name)
    const twice = new Set(did.filter((call, at) => did.indexOf(call) !== at))
    const records = await session(name).records()
    const before = new Set(lost.get(name))
    repeated += twice.size
    unknown +=
      records.filter((record) => JSON.stringify(record).includes('outcome of this call is unknown')).length > 0 ? 1 : 0
    checkPromise(
      inCopy.done.every((call) => !twice.has(call)) && inCopy.begun.every((call) => !twice.has(call)),
      `${name}: nothing is done twice that the copy says was done or begun (${inCopy.begun.length} calls)`,
    )
    checkPromise(
      [...twice].every((call) => before.has(call) && !inCopy.begun.includes(call)),
      `${name}: what is done again was done after the copy (${twice.size} calls)`,
    )
    checkPromise(
      callsOf(records).begun.every((call) => callsOf(records).done.includes(call)),
      `${name}: each call has an outcome on record`,
    )
  }
  checkPromise(repeated > 0, `calls that were made after the copy are made again: ${repeated}`)
  console.log(`sessions with a call that the copy had under way, whose outcome is unknown: ${unknown}`)
} catch (error) {
  console.error(await cluster.unfinished())
  throw error
} finally {
  await end()
  rmSync(copy, { recursive: true, force: true })
}
process.exit(0)
