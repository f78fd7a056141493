// Kills processes that work on sessions of a store until each session has ended, and then checks the outcome.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isToolResult, isToolUse } from '../../../src/entries/adapters.ts'
import type { ContentBlock, ModelMessage } from '../../../src/index.ts'
import type { Left, Orders } from './orders.ts'

/** How to run a child: the program, and the arguments before its orders. */
export interface ChildProgram {
  readonly node: string
  readonly args: readonly string[]
  /** The location of the store, for the orders. */
  readonly store: string
}

/** The outcome of one session. */
interface Session {
  readonly kills: number
  readonly problems: readonly string[]
}

let sessions = 0

/** One session, killed at each of these records or after this many milliseconds, until it ends. */
async function oneSession(
  program: ChildProgram,
  under: string,
  turns: number,
  nextKill: () => { readonly record: number } | { readonly afterMs: number } | undefined,
): Promise<Session> {
  const folder = mkdtempSync(join(under, 'kills-'))
  const sessionId = `session-${process.pid}-${++sessions}`
  let kills = 0
  for (;;) {
    const kill = nextKill()
    const stopAt = kill !== undefined && 'record' in kill ? kill.record : null
    const orders: Orders = { folder, sessionId, turns, stopAt, store: program.store }
    // One process after another.
    const ended = await runUntil(program, orders, kill !== undefined && 'afterMs' in kill ? kill.afterMs : undefined)
    if (ended === 'ended') break
    kills++
  }
  const problems = problemsIn(folder, turns).map((problem) => `${sessionId}: ${problem}`)
  rmSync(folder, { recursive: true })
  return { kills, problems }
}

/** The violations of a session that ended, however often it was killed. */
function problemsIn(folder: string, turns: number): readonly string[] {
  const left = JSON.parse(readFileSync(join(folder, 'end.json'), 'utf8')) as Left
  const problems = [...left.problems]
  if (left.reason !== 'completed') problems.push(`it ended as ${left.reason}: ${left.error}`)
  if (left.lastReason !== left.reason) problems.push(`the store says that it ended as ${left.lastReason}`)
  if (left.starts !== 1 || left.ends !== 1) problems.push(`it has ${left.starts} starts and ${left.ends} ends`)
  const effects = linesOf(folder, 'effects.txt')
  if (new Set(effects).size < effects.length) problems.push(`done twice: ${effects.join()}`)
  // The child wrote the messages of its transcript.
  const blocks = (left.messages as readonly ModelMessage[]).flatMap(({ content }): readonly ContentBlock[] =>
    typeof content === 'string' ? [] : content,
  )
  const results = new Map(blocks.filter(isToolResult).map((block) => [block.tool_use_id, block] as const))
  const calls = blocks.filter(isToolUse).map(({ id }) => id)
  for (const id of calls) {
    const text = JSON.stringify(results.get(id) ?? null)
    const isTrue = id.startsWith('look')
      ? text.includes(`seen by ${id}`)
      : text.includes('outcome of this call is unknown') || (text.includes(`paid by ${id}`) && effects.includes(id))
    if (!isTrue) problems.push(`the model got an invalid report of ${id}: ${text}`)
  }
  for (const id of effects)
    if (!calls.includes(id)) problems.push(`${id} took effect, and the model got no report of it`)
  if (calls.length === 0 && turns > 1) problems.push('it has no calls')
  return [...problems, ...askedAgain(folder)]
}

/** Replies that were on record when a process began, and were requested again. */
function askedAgain(folder: string): readonly string[] {
  const found = new Map<string, number>()
  return linesOf(folder, 'asked.txt').flatMap((line) => {
    const [pid = '', what, number] = line.split(' ')
    if (what === 'found') found.set(pid, Number(number))
    return what === 'asked' && Number(number) < (found.get(pid) ?? 0) ? [`turn ${number} was asked for again`] : []
  })
}

function linesOf(folder: string, name: string): readonly string[] {
  const file = join(folder, name)
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}

/** Kills the process when it reports its position, or this long after its start. */
function runUntil(
  { node, args }: ChildProgram,
  orders: Orders,
  afterMs: number | undefined,
): Promise<'killed' | 'ended'> {
  return new Promise((resolve, reject) => {
    const running = spawn(node, [...args, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let complaint = ''
    running.stdout.on('data', (data: Buffer) => {
      const began = !output.includes('started')
      output += data.toString()
      if (output.includes('at the record')) running.kill('SIGKILL')
      else if (afterMs !== undefined && began) setTimeout(() => running.kill('SIGKILL'), afterMs)
    })
    running.stderr.on('data', (data: Buffer) => (complaint += data.toString()))
    running.on('error', reject)
    running.on('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve('killed')
      else if (code === 0 && output.includes('ended ')) resolve('ended')
      else reject(new Error(`The process ended with ${code ?? signal}: ${output}${complaint}`))
    })
  })
}

/** The outcome of all sessions of a test. */
export interface SessionOutcome {
  readonly sessions: number
  readonly kills: number
  readonly problems: readonly string[]
}

/**
 * Kills one session after its end, and the others at their first record, their second, and so on, until one ends
 * earlier. Every later process runs undisturbed.
 */
export async function killedAtEveryRecord(
  program: ChildProgram,
  under: string,
  turns: number,
): Promise<SessionOutcome> {
  const done: Session[] = []
  for (let record = 0; ; record++) {
    let left = 1
    const session = await oneSession(program, under, turns, () => (left-- > 0 ? { record } : undefined))
    done.push(session)
    if (session.kills === 0) return sumOf(done)
  }
}

/** Kills processes after random times up to this many kills, `perSession` of them in each session. Two sessions run in parallel. */
export async function killedAtRandom(
  program: ChildProgram,
  under: string,
  {
    kills,
    turns = 60,
    perSession = 25,
    longestMs = 60,
    seed = 1,
  }: {
    readonly kills: number
    readonly turns?: number
    readonly perSession?: number
    readonly longestMs?: number
    readonly seed?: number
  },
): Promise<SessionOutcome> {
  const done: Session[] = []
  const random = randomOf(seed)
  const worker = async (): Promise<void> => {
    while (sumOf(done).kills < kills) {
      let left = Math.min(perSession, kills - sumOf(done).kills)
      done.push(
        await oneSession(program, under, turns, () => (left-- > 0 ? { afterMs: random(longestMs) } : undefined)),
      )
    }
  }
  await Promise.all([worker(), worker()])
  return sumOf(done)
}

function sumOf(done: readonly Session[]): SessionOutcome {
  return {
    sessions: done.length,
    kills: done.reduce((sum, { kills }) => sum + kills, 0),
    problems: done.flatMap(({ problems }) => problems),
  }
}

/** The same numbers for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_507) + 0x9e3779b9) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}
