import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { sources } from '../../../../vitest.build.ts'
import { parseJournal } from '../../src/read-journal.ts'
import { moments, type Left, type Moment, type Orders, type Paid } from './moments.ts'

/** `random`: after some milliseconds, wherever the process is by then. */
export type KillClass = Moment | 'random'
export const killClasses: readonly KillClass[] = [...moments, 'random']

/** The outcome of a session that was killed and resumed until it ended. */
export interface Tormented {
  readonly left: Left
  readonly kills: readonly KillClass[]
  readonly paid: readonly Paid[]
  /** The ids of the calls that took effect, once for each effect. */
  readonly effects: readonly string[]
  /** Replies that were recorded before a process started, and paid for again. */
  readonly paidAgain: readonly Paid[]
  readonly journal: Buffer
}

const path = (relative: string): string => fileURLToPath(new URL(`../../../../${relative}`, import.meta.url))

/** Bundles child.ts from the current sources. Returns the file. */
export async function bundleChild(folder: string): Promise<string> {
  const outfile = join(folder, 'child.mjs')
  await build({
    entryPoints: [path('packages/journal/test/torture/child.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    alias: sources,
    logLevel: 'warning',
  })
  return outfile
}

/** Numbers that are equal for equal seeds. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_507) + 0x9e3779b9) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

/** Runs one session and kills each process as `nextKill` says, until it returns `undefined` or the work is done. */
export async function torment(
  child: string,
  under: string,
  given: Pick<Orders, 'turns' | 'maxBudgetUsd'>,
  nextKill: () => KillClass | undefined,
  random: (below: number) => number,
): Promise<Tormented> {
  const folder = mkdtempSync(join(under, 'session-'))
  mkdirSync(folder, { recursive: true })
  const kills: KillClass[] = []
  const paidAgain: Paid[] = []
  const journalPath = join(folder, 'project', '11111111-2222-4333-8444-555555555555.jsonl')
  const read = (): Buffer => (existsSync(journalPath) ? readFileSync(journalPath) : Buffer.alloc(0))
  for (;;) {
    const kill = nextKill()
    const stopAt = kill === undefined || kill === 'random' ? null : { moment: kill, time: 1 + random(3) }
    const recorded = repliesIn(read())
    const before = paidIn(folder).length
    const orders: Orders = { ...given, folder, stopAt }
    // One process after another.
    const ended = await runUntil(child, orders, kill === 'random' ? random(60) : undefined)
    paidAgain.push(
      ...paidIn(folder)
        .slice(before)
        .filter(({ turn }) => turn < recorded),
    )
    if (ended === 'killed' && kill !== undefined) kills.push(kill)
    if (ended === 'ended') break
  }
  const tormented = {
    left: JSON.parse(readFileSync(join(folder, 'end.json'), 'utf8')) as Left,
    kills,
    paid: paidIn(folder),
    effects: textOf(folder, 'effects.txt').split('\n').filter(Boolean),
    paidAgain,
    journal: read(),
  }
  rmSync(folder, { recursive: true })
  return tormented
}

function repliesIn(journal: Buffer): number {
  if (journal.length === 0) return 0
  return parseJournal(journal, 'journal').runs.flat().filter(isReply).length
}

const isReply = (record: { readonly type: string; readonly key?: string; readonly value?: unknown }): boolean =>
  record.type === 'result' &&
  record.key?.startsWith('run1/model:') === true &&
  (record.value as { kind: string }).kind === 'answered'

function textOf(folder: string, name: string): string {
  const file = join(folder, name)
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function paidIn(folder: string): readonly Paid[] {
  return textOf(folder, 'paid.jsonl')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Paid)
}

/** Kills the process when it reports its moment, or this long after its start. */
function runUntil(child: string, orders: Orders, delayMs: number | undefined): Promise<'killed' | 'ended'> {
  return new Promise((resolve, reject) => {
    const running = spawn(process.execPath, [child, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let complaint = ''
    running.stdout.on('data', (data: Buffer) => {
      const began = !output.includes('started')
      output += data.toString()
      if (output.includes('at ')) running.kill('SIGKILL')
      else if (delayMs !== undefined && began) setTimeout(() => running.kill('SIGKILL'), delayMs)
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
