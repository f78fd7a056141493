// One measurement in a process of its own: `node child.mjs overhead|steady|concurrent|suspended|abort PEER N|WHAT`, one line of JSON out.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { peerOf } from './peers.mjs'

const [kind, peer, argument] = process.argv.slice(2)
const run = await peerOf(peer)
const figures = await { overhead, steady, concurrent, suspended, abort }[kind](argument)
process.stdout.write(`${JSON.stringify({ ...figures, maxRssMb: process.resourceUsage().maxRSS / 1_024 })}\n`)
// A deaf tool or model would keep the process alive.
process.exit(0)

/** One loop of `turns` turns: all of it, and the last tenth. */
async function overhead(turns) {
  const count = Number(turns)
  const tenth = Math.floor(count * 0.9)
  let lastBegan = 0
  const cpuBegan = cpuMs()
  const began = performance.now()
  const played = await run({
    turns: count,
    onModel(turn) {
      if (turn === tenth) lastBegan = performance.now()
    },
  })
  const ended = performance.now()
  const cpu = cpuMs() - cpuBegan
  expect(played, count, 1)
  return { totalMs: ended - began, msPerTurn: (ended - began) / count, lastMsPerTurn: (ended - lastBegan) / (count - tenth), cpuMsPerTurn: cpu / count }
}

/** The cost of a turn once everything is compiled: turns 1,000 to `turns` of one loop. */
async function steady(turns) {
  const count = Number(turns)
  let cpuBegan = 0
  const played = await run({
    turns: count,
    onModel(turn) {
      if (turn === 1_000) cpuBegan = cpuMs()
    },
  })
  const cpu = cpuMs() - cpuBegan
  expect(played, count, 1)
  return { cpuMsPerTurn: cpu / (count - 1_000) }
}

/** 1,000 loops of 10 turns at once by default; model and tool take 5 ms. */
async function concurrent(shape) {
  const [loops, turns] = shape.split('x').map(Number)
  const cpuBegan = cpuMs()
  const began = performance.now()
  const all = await Promise.all(Array.from({ length: loops }, () => run({ turns, modelMs: 5, toolMs: 5 })))
  const totalMs = performance.now() - began
  const cpu = cpuMs() - cpuBegan
  for (const played of all) expect(played, turns, 1)
  return { totalMs, cpuMs: cpu }
}

/** The memory of one of many loops that wait for their third reply, or for a tool of their first turn (`LOOPS:tool`), after a collection. */
async function suspended(shape) {
  const [loops, place] = shape.split(':')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const hanging = (count) =>
    new Promise((resolve) => {
      let waiting = 0
      const arrive = () => {
        if (++waiting === count) setTimeout(resolve, 100)
      }
      const inModel = { turns: 5, hangs: 2, onModel: (turn) => turn === 2 && arrive() }
      const inTool = { turns: 5, deaf: { what: 'tool', ms: 600_000 }, onTool: arrive }
      for (let index = 0; index < count; index++) void run(place === 'tool' ? inTool : inModel)
    })
  // Everything is loaded and compiled before the first measurement.
  await hanging(200)
  collect()
  const before = process.memoryUsage().heapUsed
  await hanging(Number(loops))
  collect()
  return { kbALoop: (process.memoryUsage().heapUsed - before) / 1_024 / Number(loops) }
}

/** From the abort to the end, as the caller sees it, with a tool or model that ignores its signal for 2 s. */
async function abort(what) {
  const warm = { turns: 3 }
  for (let times = 0; times < 20; times++) await run(warm)
  const controller = new AbortController()
  let aborted = 0
  let startedAfter = 0
  const abortSoon = () => {
    setTimeout(() => {
      aborted = performance.now()
      controller.abort()
    }, 50)
  }
  const played = await run({
    turns: 5,
    deaf: { what, ms: 2_000 },
    signal: controller.signal,
    onModel: (turn) => {
      if (what === 'model' && turn === 0) abortSoon()
    },
    onTool() {
      if (aborted > 0) startedAfter++
      else if (what === 'tool') abortSoon()
    },
  })
  const settledMs = performance.now() - aborted
  // What was left behind returns after 2 s; a tool may start then.
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, 2_500 - settledMs)))
  return { settledMs, startedAfter, ending: played.ending }
}

/** CPU time of this process, with the threads that compile and collect: a busy machine affects it less than the clock. */
function cpuMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function expect(played, turns, answers) {
  if (played.modelCalls !== turns + answers || played.toolCalls !== turns) {
    throw new Error(`${peer} was to play ${turns} turns, but it made ${played.modelCalls} requests and ${played.toolCalls} calls (${played.ending}).`)
  }
}
