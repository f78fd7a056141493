import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Ended, here, run, start } from '../support/program.ts'
import { type Plan, randomOf } from './plan.ts'
import type { Service } from './service.ts'

const besideThis = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** Calls that a user answered, and how. */
type Answers = ReadonlyMap<string, 'approve' | 'deny'>

export interface Played {
  readonly cwd: string
  readonly id: string
  /** The exit code of each process; undefined for one that was killed. */
  readonly ends: readonly (Ended | undefined)[]
  readonly answers: Answers
}

/** Runs one session to its end: processes are killed while the service is asked and after it answered; calls wait for a user. */
export class TroubledSession {
  readonly plan: Plan
  readonly cwd: string
  readonly #id: string
  readonly #random: (below: number) => number
  readonly #answers = new Map<string, 'approve' | 'deny'>()
  readonly #ends: (Ended | undefined)[] = []
  #kills: number
  #kill: (() => void) | undefined

  constructor(plan: Plan, seed: number) {
    this.plan = plan
    this.cwd = join(here(), 'projects', plan.folder)
    this.#id = `00000000-0000-4000-8000-${String(seed).padStart(12, '0')}`
    this.#random = randomOf(seed * 7_919)
    this.#kills = plan.kills
    mkdirSync(this.cwd, { recursive: true })
  }

  /** Called by the service. */
  onRequest(moment: 'before' | 'after'): void {
    if (this.#kills === 0 || this.#random(6) > 0) return
    const kill = this.#kill
    const after = moment === 'before' ? 0 : this.#random(120)
    setTimeout(() => kill?.(), after)
  }

  async play(service: Service, maxBudgetUsd: number): Promise<Played> {
    for (let left = 60; left > 0; left -= 1) {
      const ended = await this.#runOnce(service, maxBudgetUsd)
      this.#ends.push(ended)
      const waiting = ended === undefined ? [] : waitingIn(ended)
      for (const id of waiting) await this.#answer(id)
      if (ended !== undefined && waiting.length === 0 && !this.#isUnknown(ended)) break
    }
    return { cwd: this.cwd, id: this.#id, ends: this.#ends, answers: this.#answers }
  }

  #runOnce({ url }: Service, maxBudgetUsd: number): Promise<Ended | undefined> {
    const previous = this.#ends.at(-1)
    const isNew = this.#ends.length === 0 || (previous !== undefined && this.#isUnknown(previous))
    const { name, jumps } = this.plan
    const servers = { mcpServers: { frail: { command: process.execPath, args: [besideThis('frail-server.mjs')] } } }
    const args = [
      '-p',
      ...(isNew
        ? [`Go plan:${name} now. I always want ${name}-note.`, '--session-id', this.#id]
        : ['--resume', this.#id]),
      ...`--model claude-sonnet-4-5 --max-budget-usd ${maxBudgetUsd} --output-format json --on-ask defer`.split(' '),
      '--allowedTools',
      'mcp__frail__say,Agent,Glob,Read',
      '--mcp-config',
      JSON.stringify(servers),
    ]
    const running = start(args, {
      cwd: this.cwd,
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'sk-ant-test',
        ...(jumps && { NODE_OPTIONS: `--require ${JSON.stringify(besideThis('jumping-clock.cjs'))}` }),
      },
    })
    let isKilled = false
    this.#kill = () => {
      if (running.child.exitCode !== null || this.#kills === 0) return
      this.#kills -= 1
      isKilled = true
      running.child.kill('SIGKILL')
    }
    return running.ended.then((ended) => {
      this.#kill = undefined
      return isKilled && ended.status === 'SIGKILL' ? undefined : ended
    })
  }

  /** It was killed before it had written anything. */
  #isUnknown({ status, stderr }: Ended): boolean {
    return status === 2 && /no session/i.test(stderr)
  }

  async #answer(id: string): Promise<void> {
    const answer = this.#random(4) === 0 ? 'deny' : 'approve'
    const { status, stderr } = await run([answer, this.#id, id], { cwd: this.cwd })
    if (status !== 0) throw new Error(`${answer} ${id} of ${this.plan.name}: ${stderr}`)
    this.#answers.set(id, answer)
  }
}

/** The pending calls: those of the result, or, if the process was killed before its result line, those that would block a resume. */
function waitingIn({ status, stdout, stderr }: Ended): readonly string[] {
  if (status === 2) return [...stderr.matchAll(/halting approve \S+ (toolu_\S+)/g)].map(([, id = '']) => id)
  if (status !== 5) return []
  const { stop } = JSON.parse(stdout) as {
    readonly stop: { readonly context: { readonly pending: readonly { readonly id: string }[] } }
  }
  return stop.context.pending.map(({ id }) => id)
}
