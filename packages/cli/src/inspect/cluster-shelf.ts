import type { InspectedSession, Entry, Shelf } from '@halting/analysis/view'
import { everySessionOf, type ListedSession } from '../cluster/session-pages.ts'
import { sessionOfCluster } from '../cluster/of-cluster.ts'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { watchedGradingSources } from '../grade/grading-sources.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import { goOn } from '../why/go-on.ts'
import { recordedTerms } from '../why/recorded-terms.ts'
import { terminalOf } from '@halting/analysis/why'
import { inspectedSession } from '@halting/analysis/sessions'
import { plainWhyText } from './plain-why-text.ts'

/** The sessions of a cluster: all of them, or those that are named. What stands with each is one query; records are read of what changed. */
export class ClusterShelf implements Shelf {
  readonly title: string
  readonly pauseMs = 1_500
  readonly #flags: Flags
  readonly #named: ReadonlySet<string>
  readonly #program: Program
  readonly #grading: ReturnType<typeof watchedGradingSources>

  /** @throws UsageError for a cluster that does not answer, and for a session that it does not have. */
  static async open(flags: Flags, words: readonly string[], program: Program): Promise<ClusterShelf> {
    const shelf = new ClusterShelf(flags, words, program)
    const there = new Set((await shelf.look()).map(({ key }) => key))
    // Asking for it says what is the matter with it.
    for (const word of words) if (!there.has(word)) await sessionOfCluster(flags, word, program)
    return shelf
  }

  private constructor(flags: Flags, words: readonly string[], program: Program) {
    this.#flags = flags
    this.#named = new Set(words)
    this.#program = program
    this.#grading = watchedGradingSources(program)
    // Whoever asks may have put a name and a password into the address.
    this.title = `The cluster at ${new URL(flags.cluster ?? '').origin}`
  }

  async look(): Promise<readonly Entry[]> {
    const all: ListedSession[] = []
    for await (const session of everySessionOf(this.#flags)) all.push(session)
    return all
      .filter(({ sessionId }) => this.#named.size === 0 || this.#named.has(sessionId))
      .map(({ sessionId, ...status }) => ({
        key: sessionId,
        sessionId,
        path: null,
        changedAt: null,
        isLive: status.state !== 'idle' && status.state !== 'paused',
        signature: JSON.stringify(status),
      }))
  }

  async lookAt({ key }: Entry): Promise<Entry | undefined> {
    return (await this.look()).find((each) => each.key === key)
  }

  readForRow(found: Entry): Promise<InspectedSession> {
    return this.read(found)
  }

  async read(found: Entry): Promise<InspectedSession> {
    const { cluster } = this.#flags
    const session = await sessionOfCluster(this.#flags, found.sessionId, this.#program)
    const terminal = terminalOf(session.runs.at(-1) ?? [])
    const terms = recordedTerms(session.runs)
    const where = {
      sessionId: found.sessionId,
      sessionCwd: '',
      cwd: '',
      ...terms,
      ...(cluster !== undefined && { cluster }),
    }
    const way = terminal === undefined ? { says: 'It continues in the cluster.' } : goOn(terminal, where)
    const shellArguments = this.#argumentsOf(found)
    return inspectedSession(session, {
      found,
      nextStep: way,
      shellArguments,
      grading: this.#grading(),
      whyText: plainWhyText,
    })
  }

  #argumentsOf({ sessionId }: Entry): string {
    const { cluster = '' } = this.#flags
    // Whoever begins a session in a cluster chooses its id.
    return shellQuoted(['--cluster', cluster, ...(sessionId.startsWith('-') ? ['--'] : []), sessionId])
  }
}
