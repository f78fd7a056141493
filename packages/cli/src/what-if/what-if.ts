import { ReadTogether, withoutSubagents, type ForeignSession, type SessionKind } from '@halting/agent/foreign'
import { HaltingError } from '@halting/core'
import {
  suggestLimits,
  trajectoryOf,
  whatIf,
  type OtherLimits,
  type PastCall,
  type Trajectory,
} from '@halting/core/steps'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { styleFor } from '../io/style.ts'
import { foreignFolders } from '../foreign/find-foreign.ts'
import { recordedText, skippedText, unpricedText } from '../foreign/foreign-text.ts'
import { pricesFor, readAnySession, type PricesFor } from '../foreign/read-session.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { findFiles } from '../session/find-session.ts'
import type { RunAnswer, Told } from './told.ts'
import { whatIfText } from './what-if-text.ts'

/** A run that was read, and where it stands. */
interface PastRun {
  readonly session: string
  readonly run: string
  readonly file: string
  readonly program: SessionKind
  readonly unpriced: readonly string[]
  readonly trajectory: Trajectory
}

/** What was read, and what of it is told beside the answers. */
interface ReadRuns {
  readonly runs: readonly PastRun[]
  readonly skipped: readonly string[]
  readonly foreign: readonly { readonly foreign: ForeignSession; readonly costUsd: number }[]
}

/** `halting what-if [SESSION|FOLDER …] --max-turns 20 …`: where other limits would have stopped sessions. Asks nobody, changes nothing. */
export async function whatIfCommand(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const limits = limitsIn(flags)
  const isAsked = Object.keys(limits).length > 0
  if (!isAsked && flags.suggest !== true)
    throw new UsageError(
      'Say which limits: --max-turns, --max-budget-usd, --max-tokens, --max-duration, --no-progress; or --suggest.',
    )
  const folders = foreignFolders(flags, program)
  const together = new ReadTogether()
  const files = await withoutSubagents(await findFiles([...words, ...folders], program), together)
  const { runs, skipped, foreign } = await readRuns(files, pricesFor(flags, program), together)
  if (runs.length === 0) throw new UsageError(`Nothing to look at: ${skipped[0] ?? 'no run is on record'}`)
  const told: Told = {
    answers: isAsked ? runs.map((run) => answerFor(run, limits)) : [],
    suggested:
      flags.suggest === true
        ? suggestLimits(
            runs.map(({ trajectory }) => trajectory),
            { changes },
          )
        : undefined,
    runs: runs.length,
    skipped,
    notes: [
      unpricedText(runs.flatMap(({ unpriced }) => unpriced)),
      recordedText(foreign),
      skippedText(foreign.map((each) => each.foreign.skipped)),
    ].filter((note) => note !== ''),
  }
  const { output, env } = program
  if (wantsJson(flags)) output.out(`${JSON.stringify({ limits, ...told })}\n`)
  else output.out(whatIfText(told, output.width, styleFor(output.isTerminal.stdout, env)))
  return 0
}

function limitsIn({ maxTurns, maxBudgetUsd, maxTokens, maxDuration, noProgress }: Flags): OtherLimits {
  return {
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(maxTokens !== undefined && { maxTotalTokens: maxTokens }),
    ...(maxDuration !== undefined && { maxDurationMs: maxDuration }),
    ...(noProgress !== undefined && { noProgress }),
  }
}

/** Dollars stop no run of which they are not known. */
function answerFor({ trajectory, ...place }: PastRun, limits: OtherLimits): RunAnswer {
  const answer = whatIf(trajectory, limits, { changes })
  const isKnown = place.unpriced.length === 0 || typeof limits.maxBudgetUsd !== 'number' || answer.verdict === 'stops'
  return { ...place, answer: isKnown ? answer : { ...answer, verdict: 'unknown', reason: null } }
}

/** One after another: a folder may hold a great many. */
async function readRuns(files: readonly string[], prices: PricesFor, together: ReadTogether): Promise<ReadRuns> {
  const runs: PastRun[] = []
  const skipped: string[] = []
  const foreign: { foreign: ForeignSession; costUsd: number }[] = []
  for (const file of files) {
    try {
      const session = await readAnySession(file, prices, together)
      const program: SessionKind = session.foreign?.program ?? 'halting'
      const past = session.runs.map((records, index): PastRun => {
        const place = { session: session.sessionId, run: `run${index + 1}`, file, program }
        return { ...place, unpriced: session.unpriced[index] ?? [], trajectory: trajectoryOf(records) }
      })
      runs.push(...past)
      if (session.foreign === undefined) continue
      // Its messages are of no use any more, and may be many.
      const paid = past.flatMap(({ trajectory }) => trajectory.turns.flatMap(({ payments }) => payments))
      const costUsd = paid.reduce((sum, { nanos }) => sum + nanos, 0) / 1e9
      foreign.push({ foreign: { ...session.foreign, runs: [] }, costUsd })
    } catch (error) {
      if (!(error instanceof HaltingError)) throw error
      skipped.push(error.message)
    }
  }
  return { runs, skipped, foreign }
}

/** Tools that only look, by the names that agents of this kind give them. Of a command it is not known. */
const looking: ReadonlySet<string> = new Set(
  (
    'Read Glob Grep LS NotebookRead WebFetch WebSearch TodoWrite TodoRead TaskOutput BashOutput ToolSearch ' +
    'update_plan view_image web_search read_file list_dir grep_files'
  ).split(' '),
)

function changes({ tool }: PastCall): boolean {
  return !looking.has(tool)
}
