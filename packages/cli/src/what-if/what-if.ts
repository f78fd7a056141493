import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ForeignSession, SessionKind } from '@halting/agent/foreign'
import { HaltingError } from '@halting/core'
import { suggestLimits, type OtherLimits, type PastCall, type PastTurn, type Trajectory } from '@halting/core/steps'
import { changes, whatIfPriced } from '@halting/inspector/changing-calls'
import { copiesLeftOut } from '@halting/inspector/what-if-words'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { styleFor } from '../io/style.ts'
import { foreignFolders } from '../foreign/find-foreign.ts'
import { recordedText, skippedText, unpricedText } from '../foreign/foreign-text.ts'
import { pastTrajectory, readPastSession, type PastSession } from '../foreign/read-session.ts'
import { manySessions, type ManySessions } from '../foreign/many-sessions.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { findFiles } from '../stored-sessions/find-session.ts'
import { limitsIn } from '../flags/limit-flags.ts'
import type { RunAnswer, Told } from './told.ts'
import { whatIfText } from './what-if-text.ts'

/** A run that was read, and where it stands. */
type PastRun = Omit<RunAnswer, 'answer'> & { readonly trajectory: Trajectory }

/** What is made of each run while its session is in memory, since a folder may hold far more than fits there. */
interface Wanted {
  readonly limits: OtherLimits | undefined
  readonly suggests: boolean
  /** Runs that count in another session. */
  readonly copies: 'shown' | 'left out'
}

/** What was read, and what of it is told beside the answers. */
interface ReadRuns {
  readonly runs: number
  readonly answers: readonly RunAnswer[]
  /** What suggestions are made of; none where nobody asks for any. */
  readonly trajectories: readonly Trajectory[]
  readonly unpriced: ReadonlySet<string>
  readonly skipped: readonly string[]
  readonly foreign: readonly { readonly foreign: ForeignSession; readonly costUsd: number }[]
  /** Copies of runs that were left out. */
  readonly copies: number
}

/** `halting what-if [SESSION|FOLDER …] --max-turns 20 …`: where other limits would have stopped sessions. Asks nobody, changes nothing. */
export async function whatIfCommand(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const limits = otherLimitsIn(flags)
  const isAsked = Object.keys(limits).length > 0
  if (!isAsked && flags.suggest !== true)
    throw new UsageError(
      'Say which limits: --max-turns, --max-budget-usd, --max-tokens, --max-duration, --no-progress; or --suggest.',
    )
  const wanted = {
    limits: isAsked ? limits : undefined,
    suggests: flags.suggest === true,
    copies: (await isNamedAlone(words, program)) ? ('shown' as const) : ('left out' as const),
  }
  const { runs, answers, trajectories, unpriced, skipped, foreign, copies } = await readRuns(
    await sourceOf(flags, words, program),
    wanted,
  )
  if (runs === 0) {
    const why = skipped[0] ?? (copies > 0 ? copiesLeftOut(copies) : 'no run is on record')
    throw new UsageError(`Nothing to look at: ${why}`)
  }
  const told: Told = {
    answers,
    suggested: wanted.suggests ? suggestLimits(trajectories, { changes }) : undefined,
    runs,
    skipped,
    notes: [
      copiesLeftOut(copies),
      unpricedText([...unpriced]),
      recordedText(foreign),
      skippedText(foreign.map((each) => each.foreign.skipped)),
    ].filter((note) => note !== ''),
  }
  const { output, env } = program
  if (wantsJson(flags)) output.out(`${JSON.stringify({ limits, ...told })}\n`)
  else output.out(whatIfText(told, output.width, styleFor(output.isTerminal.stdout, env)))
  return 0
}

function otherLimitsIn(flags: Flags): OtherLimits {
  const { noProgress } = flags
  return { ...limitsIn(flags), ...(noProgress !== undefined && { noProgress }) }
}

function answerFor({ trajectory, ...place }: PastRun, limits: OtherLimits): RunAnswer {
  return { ...place, answer: whatIfPriced(trajectory, limits, place.unpriced) }
}

/** Which sessions there are to look at, and how one is read: as far as limits see it. */
function sourceOf(flags: Flags, words: readonly string[], program: Program): Promise<ManySessions<PastSession>> {
  return manySessions(flags, words, program, {
    files: () => findFiles([...words, ...foreignFolders(flags, program)], program),
    ofFile: readPastSession,
    ofCluster: ({ sessionId, runs, unpriced }) => ({
      sessionId,
      runs: runs.map((records, index) => pastTrajectory(records, unpriced[index])),
    }),
  })
}

/** One after another: a folder may hold a great many. */
async function readRuns({ names, read }: ManySessions<PastSession>, wanted: Wanted): Promise<ReadRuns> {
  const { limits, suggests } = wanted
  let [runs, copies] = [0, 0]
  const answers: RunAnswer[] = []
  const trajectories: Trajectory[] = []
  const unpriced = new Set<string>()
  const skipped: string[] = []
  const foreign: { foreign: ForeignSession; costUsd: number }[] = []
  for (const name of names) {
    try {
      const past = pastRunsOf(await read(name), name)
      for (const run of past.runs) {
        if (run.isCopy && wanted.copies === 'left out') {
          copies++
          continue
        }
        runs++
        for (const model of run.unpriced) unpriced.add(model)
        if (limits !== undefined) answers.push(answerFor(run, limits))
        if (suggests) trajectories.push(withoutInputs(run.trajectory))
      }
      if (past.foreign !== undefined) foreign.push(past.foreign)
    } catch (error) {
      if (!(error instanceof HaltingError)) throw error
      skipped.push(error.message)
    }
  }
  return { runs, answers, trajectories, unpriced, skipped, foreign, copies }
}

/** One session that somebody names is told whole; of many each run counts once. */
async function isNamedAlone(words: readonly string[], { cwd }: Program): Promise<boolean> {
  const [word, ...more] = words
  if (word === undefined || more.length > 0) return false
  return (await stat(resolve(cwd, word)).catch(() => undefined))?.isDirectory() !== true
}

interface PastRuns {
  readonly runs: readonly PastRun[]
  readonly foreign?: ReadRuns['foreign'][number]
}

function pastRunsOf(session: PastSession, file: string): PastRuns {
  const program: SessionKind = session.foreign?.program ?? 'halting'
  const runs = session.runs.map((run, index): PastRun => {
    return { session: session.sessionId, run: `run${index + 1}`, file, program, ...run }
  })
  if (session.foreign === undefined) return { runs }
  const paid = runs.flatMap(({ trajectory }) => trajectory.turns.flatMap(({ payments }) => payments))
  const costUsd = paid.reduce((sum, { nanos }) => sum + nanos, 0) / 1e9
  return { runs, foreign: { foreign: session.foreign, costUsd } }
}

/** Which limit to suggest depends on the tools of calls, and not on what they were given, which is most of a trajectory. */
function withoutInputs({ turns, ...rest }: Trajectory): Trajectory {
  const short = ({ tool, hasRun, endMs }: PastCall): PastCall => ({ tool, hasRun, endMs, input: null })
  // Field by field: of a great many turns, to take out one and copy the rest is several times slower.
  const shortTurn = (turn: PastTurn): PastTurn => {
    const { countsAsTurn, isTold, payments, calls, endMs, hash, isFreshAfter, agentTurns } = turn
    return { countsAsTurn, isTold, payments, calls: calls.map(short), endMs, hash, isFreshAfter, agentTurns }
  }
  return { ...rest, turns: turns.map(shortTurn) }
}
