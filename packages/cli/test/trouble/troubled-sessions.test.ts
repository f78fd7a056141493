// Holds promises of docs/spec together, in the real program: sessions side by side whose processes are killed, whose calls wait for a person, whose clock
// jumps, whose servers die and whose agents share a budget come to one result each, and nothing of them is mixed, done twice or paid twice.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { here, installProgram, type Line, run } from '../support/program.ts'
import { type Plan, planOf } from './plan.ts'
import { type Service, startService } from './service.ts'
import { type Played, TroubledSession } from './troubled-session.ts'

installProgram()

const depth = process.env['HALTING_DEEP']
const count = Number(process.env['HALTING_SESSIONS'] ?? (depth === 'all' ? 200 : depth === '1' ? 4 : 2))
const firstSeed = Number(process.env['HALTING_SEED'] ?? '1') * 10_000

const sessions = new Map<string, TroubledSession>()
let service: Service
beforeAll(async () => {
  mkdirSync(join(here(), '.halting'))
  writeFileSync(join(here(), '.halting/settings.json'), JSON.stringify({ autoMemoryEnabled: true }))
  for (let at = 0; at < count; at += 1) {
    const seed = firstSeed + at
    const plan = planOf(seed)
    sessions.set(plan.name, new TroubledSession(plan, seed))
  }
  service = await startService(sessions, (name, moment) => sessions.get(name)?.onRequest(moment))
})
afterAll(() => service.close())

/** Expensive enough that concurrent requests of agents reserve more than there is, unless a kill loses something. */
const budgetOf = ({ kills }: Plan): number => (kills === 0 ? 1.2 : 20)

function textsIn(cwd: string): ReadonlyMap<string, string> {
  const names = readdirSync(cwd).filter((name) => name.endsWith('.txt'))
  return new Map(names.map((name) => [name, readFileSync(join(cwd, name), 'utf8')]))
}

interface ToolResult {
  readonly text: string
  readonly isError: boolean
}

/** Results of calls in the file of a session, by their IDs. */
function resultsIn(file: string): ReadonlyMap<string, ToolResult> {
  const results = new Map<string, ToolResult>()
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('tool_use_id' in value && 'content' in value)
      results.set(String(value.tool_use_id), {
        text: JSON.stringify(value.content),
        isError: 'is_error' in value && value.is_error === true,
      })
    for (const inner of Object.values(value)) look(inner)
  }
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) look(JSON.parse(line))
  return results
}

interface Sums {
  readonly costUsd: number
  readonly unknownUsd: number
}

interface Report {
  readonly totals: Sums
  readonly bySession: readonly { readonly session: string; readonly file: string; readonly ending: string }[]
  readonly skipped: readonly unknown[]
}

async function problemsOf(session: TroubledSession): Promise<readonly string[]> {
  const { plan } = session
  const played = await session.play(service, budgetOf(plan))
  const problems: string[] = []
  const last = played.ends.at(-1)
  // Killed between its last record and its result line.
  const wasOver =
    last?.status === 2 && played.ends.at(-2) === undefined && last.stderr.includes('cannot continue without a prompt')
  if (last?.status !== 0 && !wasOver)
    return [`ended with ${last?.status}: ${last?.stdout.slice(0, 300)} ${last?.stderr.slice(0, 300)}`]
  for (const ended of played.ends) {
    // A process after a killed one may find nothing to do, or only a question.
    if (ended === undefined || ended.status === 2) continue
    const lines = ended.stdout.trim().split('\n')
    if (lines.length !== 1 || !lines[0]?.startsWith('{'))
      problems.push(`no one result: ${ended.stdout} ${ended.stderr}`)
  }
  const result = wasOver ? undefined : (JSON.parse(last.stdout) as Line)
  if (result !== undefined && result['result'] !== `done by ${plan.name}`)
    problems.push(`its answer: ${String(result['result'])}`)
  const { stdout, stderr } = await run(['report', '--json'], { cwd: played.cwd })
  const report = JSON.parse(stdout) as Report
  const kept = report.bySession.find(({ session }) => session === played.id)
  if (kept === undefined || report.bySession.length > 1 || report.skipped.length > 0 || stderr !== '')
    problems.push(`the report of the folder: ${stdout} ${stderr}`)
  if (kept !== undefined) problems.push(...effectsAmiss(played, plan, resultsIn(kept.file)))
  problems.push(...moneyAmiss(played, plan, report), ...(await notesAmiss(played, plan)))
  for (const args of [
    ['why', played.id],
    ['replay', played.id],
    ['what-if', played.id, '--max-turns', '3'],
  ]) {
    const { status, stderr } = await run(args, { cwd: played.cwd })
    if (status !== 0) problems.push(`halting ${args.join(' ')}: ${status} ${stderr}`)
  }
  return problems
}

function effectsAmiss(
  played: Played,
  { name, steps }: Plan,
  results: ReadonlyMap<string, ToolResult>,
): readonly string[] {
  const problems: string[] = []
  const texts = textsIn(played.cwd)
  const all = [...texts.values()].join('')
  for (const mark of all.match(/s\d+x-\d+/g) ?? [])
    if (!mark.startsWith(`${name}-`)) problems.push(`${mark} is of another session`)
  for (const [at, step] of steps.entries()) {
    if (step.kind === 'agents' || step.kind === 'read') continue
    const id = `toolu_${name}_${at}`
    const reported = results.get(id)
    if (reported === undefined) {
      problems.push(`${id} has no result`)
      continue
    }
    if (step.kind === 'server') continue
    const times = all.split('\n').filter((line) => line === step.mark).length
    const isUnknown = reported.text.includes('outcome of this call is unknown')
    const answer = played.answers.get(id)
    const mayBe = isUnknown ? [0, 1] : reported.isError ? [0] : [1]
    if (!mayBe.includes(times)) problems.push(`${id} ${answer}: ${times} times, ${reported.text}`)
    // Nobody is asked about an edit of a missing file.
    const isLost = reported.isError && isOfLostFile(step.file, texts, reported.text)
    if (answer === undefined && !isLost) problems.push(`${id} was not asked about: ${reported.text}`)
    if (answer === 'approve' && reported.isError && !isUnknown && !isLost)
      problems.push(`${id} was approved: ${reported.text}`)
  }
  return problems
}

/** The file was never written, because a user denied it, or the outcome is unknown. */
function isOfLostFile(file: string, texts: ReadonlyMap<string, string>, reported: string): boolean {
  return !texts.has(file) || /not exist|no such file|not read/i.test(reported)
}

/** Its own sentence, at most once: a run that ends with a question takes no notes. */
async function notesAmiss({ cwd }: Played, { name }: Plan): Promise<readonly string[]> {
  const { stdout } = await run(['memory', '--json'], { cwd })
  const { topics } = JSON.parse(stdout) as {
    readonly topics: readonly { readonly notes: readonly { readonly text: string }[] }[]
  }
  const texts = topics.flatMap(({ notes }) => notes.map(({ text }) => text))
  const isRight = texts.length === 0 || (texts.length === 1 && texts[0] === `I always want ${name}-note.`)
  return isRight ? [] : [`its notes: ${JSON.stringify(texts)}`]
}

function moneyAmiss({ ends }: Played, plan: Plan, { totals }: Report): readonly string[] {
  const reported = totals.costUsd + totals.unknownUsd
  const billed = service.bills.get(plan.name)?.usd ?? 0
  // If a process was killed before it received the cost, the worst case counts.
  const isAmiss = ends.includes(undefined) ? reported < billed - 1e-9 : Math.abs(reported - billed) > 1e-9
  const problems = isAmiss ? [`reported $${reported}, billed $${billed}`] : []
  return reported > budgetOf(plan) ? [...problems, `$${reported} of $${budgetOf(plan)}`] : problems
}

describe(`${count} sessions in trouble, from seed ${firstSeed}`, () => {
  test(
    'have one result each; nothing is mixed, repeated or paid twice, and no run ends for lack of money that is refunded',
    async () => {
      const left = [...sessions.values()]
      const found: string[] = []
      const worker = async (): Promise<void> => {
        for (let session = left.pop(); session !== undefined; session = left.pop())
          for (const problem of await problemsOf(session).catch((thrown: unknown) => [String(thrown)]))
            found.push(`${session.plan.name}: ${problem}`)
      }
      await Promise.all([worker(), worker()])
      expect(found).toEqual([])
    },
    120_000 + count * 120_000,
  )
})
