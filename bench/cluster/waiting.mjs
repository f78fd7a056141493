// What waiting clients of a session cost, and how soon they learn of changes.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { sessionObject } from '@halting/restate'
import { median, ms, numberOf, table, textOf } from '../lib/measure.mjs'

const program = fileURLToPath(new URL('follow.mjs', import.meta.url))
const callId = `toolu_${'0'.repeat(24)}`
/** The pause between a change and a measurement: one-time work is not part of the cost of waiting, and calls of stopped clients end within 50 s. */
const settlingMs = 60_000
const startingMs = 90_000
const long = 3_600_000

/** What clients wait for, and how the session gets into that state. */
const states = {
  'a session that waits for a person': { play: { turns: 1, writes: true, asks: true }, how: 'unread', state: 'requires_action' },
  'a long command, live events cannot be read': { play: { turns: 1, writes: true, effectMs: long }, how: 'unread', state: 'running' },
  'a session that waits for a free place': { play: { turns: 1 }, how: 'unread', isFull: true },
  'a long command, live events are read': { play: { turns: 1, writes: true, effectMs: long }, how: '', state: 'running' },
  'a session at which nothing goes on': { how: '' },
}

export async function waiting(bench) {
  const seconds = numberOf('seconds', 100)
  const rounds = numberOf('rounds', 1)
  const only = textOf('state', '')
  const rows = []
  for (const [title, situation] of Object.entries(states)) {
    if (!title.includes(only)) continue
    await bench.employ(1, [situation.isFull === true ? '0' : '64', 'live'])
    const key = bench.name()
    if (situation.play !== undefined) await bench.prompt(situation.play, key)
    if (situation.state !== undefined) await until(async () => (await bench.post(`${sessionObject}/${key}/status`)).state === situation.state)
    const clients = []
    for (let at = 0; at < 10; at++) clients.push(await followed(bench, [key], situation.how))
    // The engine releases a session at rest after a minute: that is a one-time cost, as is the start of a program.
    await wait(startingMs)
    const costs = []
    for (let round = 0; round < rounds; round++) {
      if (round > 0) {
        for (const client of clients) client.process.kill('SIGCONT')
        await wait(settlingMs)
      }
      const waiting = await costOf(bench, seconds, clients)
      // They are stopped, not ended, so that everything else is the same with and without them.
      for (const client of clients) client.process.kill('SIGSTOP')
      await wait(settlingMs)
      const alone = await costOf(bench, seconds, clients)
      const parts = ['server', 'workers', 'clients'].map((part) => waiting[part] - alone[part])
      costs.push([...parts, parts.reduce((sum, part) => sum + part, 0)])
    }
    for (const client of clients) client.process.kill('SIGKILL')
    const medians = [0, 1, 2, 3].map((part) => median(costs.map((cost) => cost[part])))
    const all = costs.map((cost) => cost[3])
    rows.push([title, ...medians.map(percent), `${percent(Math.min(...all))} to ${percent(Math.max(...all))}`])
  }
  console.log(`### Ten clients that wait\n\nOf a core, above what it costs while they are stopped: medians of ${rounds} pairs of ${seconds} s.\n`)
  console.log(`${table(['', 'engine', 'worker', 'clients', 'together', 'least to most'], rows)}\n`)
  if (numberOf('latencies', 30) > 0) await latencies(bench)
}

function percent(share) {
  return `${(share * 100).toFixed(2)} %`
}

/** Shares of a core. */
async function costOf(bench, seconds, clients) {
  const usage = () => {
    const { workers, server } = bench.usage()
    const clientsMs = clients.reduce((sum, client) => sum + bench.cpuMsOf(client), 0)
    return { server: server.cpuMs, workers: workers.cpuMs, clients: clientsMs }
  }
  const before = usage()
  const began = performance.now()
  await wait(seconds * 1_000)
  const after = usage()
  const tookMs = performance.now() - began
  return Object.fromEntries(Object.keys(before).map((part) => [part, (after[part] - before[part]) / tookMs]))
}

async function followed(bench, keys, how) {
  const child = spawn(process.execPath, [program, bench.cluster.ingress(), keys.join(','), how], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const messages = []
  child.on('message', (message) => messages.push(message))
  await until(async () => messages.includes('follows'))
  return { process: child, messages }
}

/** The time from a request of another client until this client learns of its outcome. */
async function latencies(bench) {
  const count = numberOf('latencies', 30)
  const rows = []
  await bench.employ(1, ['64', 'live'])
  for (const how of ['unread', '']) {
    const keys = Array.from({ length: count }, () => bench.name())
    const client = await followed(bench, keys, how)
    const hears = async (key, type) => {
      const of = (message) => message.key === key && message.type === type
      await until(async () => client.messages.some(of))
      return client.messages.find(of).at
    }
    await wait(settlingMs)
    const questions = []
    const ends = []
    for (const key of keys) {
      let began = Date.now()
      await bench.prompt({ turns: 1, writes: true, asks: true }, key)
      questions.push((await hears(key, 'question')) - began)
      await wait(1_000)
      began = Date.now()
      await bench.post(`${sessionObject}/${key}/approve`, { id: 'a', callId })
      ends.push((await hears(key, 'run_end')) - began)
    }
    client.process.kill('SIGKILL')
    const name = how === 'unread' ? 'live events cannot be read' : 'live events are read'
    rows.push([name, ...[questions, ends].flatMap((all) => [0.5, 0.95].map((share) => ms(quantile(all, share))))])
  }
  console.log(`### How soon a client that waits hears of it\n\n${count} prompts of somebody else, and ${count} answers.\n`)
  console.log(`${table(['', 'prompt to question: p50, ms', 'p95', 'answer to end of the run: p50, ms', 'p95'], rows)}\n`)
}

function quantile(all, share) {
  return all.toSorted((a, b) => a - b)[Math.floor((all.length - 1) * share)]
}

async function until(holds) {
  for (let left = 3_000; !(await holds()); left--) {
    if (left === 0) throw new Error(`It never came: ${holds}`)
    await wait(10)
  }
}

function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
