import { readJournal } from '@halting/agent'
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
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { findFiles } from '../session/find-session.ts'
import type { Told } from './told.ts'
import { whatIfText } from './what-if-text.ts'

/** A run that was read, and where it stands. */
interface PastRun {
  readonly session: string
  readonly run: string
  readonly file: string
  readonly trajectory: Trajectory
}

/** `halting what-if [SESSION|FOLDER …] --max-turns 20 …`: where other limits would have stopped sessions. Asks nobody, changes nothing. */
export async function whatIfCommand(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const limits = limitsIn(flags)
  const isAsked = Object.keys(limits).length > 0
  if (!isAsked && flags.suggest !== true)
    throw new UsageError(
      'Say which limits: --max-turns, --max-budget-usd, --max-tokens, --max-duration, --no-progress; or --suggest.',
    )
  const files = await findFiles(words, program)
  const { runs, skipped } = await readRuns(files)
  if (runs.length === 0) throw new UsageError(`Nothing to look at: ${skipped[0] ?? 'no run is on record'}`)
  const told: Told = {
    answers: isAsked
      ? runs.map(({ trajectory, ...place }) => ({ ...place, answer: whatIf(trajectory, limits, { changes }) }))
      : [],
    suggested:
      flags.suggest === true
        ? suggestLimits(
            runs.map(({ trajectory }) => trajectory),
            { changes },
          )
        : undefined,
    runs: runs.length,
    skipped,
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

/** One after another: a folder may hold a great many. */
async function readRuns(
  files: readonly string[],
): Promise<{ readonly runs: readonly PastRun[]; readonly skipped: readonly string[] }> {
  const runs: PastRun[] = []
  const skipped: string[] = []
  for (const file of files) {
    try {
      const { sessionId, runs: records } = await readJournal(file)
      for (const [index, run] of records.entries())
        runs.push({ session: sessionId, run: `run${index + 1}`, file, trajectory: trajectoryOf(run) })
    } catch (error) {
      if (!(error instanceof HaltingError)) throw error
      skipped.push(error.message)
    }
  }
  return { runs, skipped }
}

/** Tools that only look, by the names that agents of this kind give them. Of a command it is not known. */
const looking: ReadonlySet<string> = new Set(
  (
    'Read Glob Grep LS NotebookRead WebFetch WebSearch TodoWrite TodoRead TaskOutput BashOutput ToolSearch ' +
    'update_plan view_image web_search'
  ).split(' '),
)

function changes({ tool }: PastCall): boolean {
  return !looking.has(tool)
}
