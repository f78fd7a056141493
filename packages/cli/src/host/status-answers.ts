import type { LimitsChange } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import { captureOutput } from '../io/capture-output.ts'
import type { Program } from '../program.ts'
import { limitNames, limitsFromFlags } from '../flags/limit-flags.ts'
import { parseGoalArgument } from '../frontends/goal-argument.ts'
import { goalRows } from '../frontends/goal-words.ts'
import { limitsToSet, parseLimitsArgument } from '../frontends/limits-argument.ts'
import { settableLimits } from '../frontends/settable-limits.ts'
import {
  compactionRemark,
  contextReport,
  costReport,
  limitsReport,
  type StatusReport,
} from '../frontends/status-reports.ts'
import { UsageError } from '../usage-error.ts'
import type { HostSession } from './host-session.ts'
import type { StatusCommand, StatusCommandName } from './status-commands.ts'

// Loaded only when a host sends a status command.

interface AnswerContext {
  readonly flags: Flags
  readonly program: Program
}

type Answer = (opened: HostSession, argument: string, place: AnswerContext) => string | Promise<string>

/** Columns of an answer. */
const width = 100

const answers: { readonly [name in StatusCommandName]: Answer } = {
  async context({ session }) {
    const usage = await session.contextUsage()
    return textOf(contextReport(usage, width), compactionRemark(usage))
  },
  cost: ({ session }) => textOf(costReport(session.snapshot, width)),
  limits({ session, initialFlags: begunWith }, argument, { flags }) {
    if (argument === '') return textOf(limitsReport(session.snapshot, width))
    const read = parseLimitsArgument(argument, limitsToSet(session.snapshot))
    if (read.kind === 'wrong') throw new UsageError(read.says)
    checkCeilings(read.change, begunWith ?? flags)
    session.set({ limits: read.change })
    return textOf(limitsReport(session.snapshot, width), `From now on: ${read.says}`)
  },
  goal({ session }, argument, { flags }) {
    const read = parseGoalArgument('goal', argument, session.snapshot.goal, Date.now())
    if (read.kind === 'show') return goalsOf(session)
    checkGoalsOfStart(session, flags)
    session.set(read.change)
    return read.message
  },
  until({ session }, argument) {
    if (argument === '') return goalsOf(session)
    throw new UsageError(
      'A message cannot set or remove a goal command, because it runs without a permission request. Start with --until, or send the request apply_flag_settings with until. Nothing was changed.',
    )
  },
  async why({ session, flush }, _argument, { flags, program }) {
    const { file, last, canResume } = session.snapshot
    if (last === undefined && !canResume) return 'This session has no run yet.'
    const named = flags.cluster === undefined ? file : session.id
    if (named === undefined) return 'This session is not stored on disk, so there is no record to explain.'
    await flush?.()
    const { why } = await import('../why/why.ts')
    const { outputFormat: _, json: __, ...textFlags } = flags
    const { out } = await captureOutput(program, { width, isStyled: false }, (quiet) => why(textFlags, [named], quiet))
    return out.trim()
  },
  // A session with a conversation compacts it in a run.
  compact: () => 'There is no conversation to compact yet.',
}

/** The answer to a status command, as plain text, without asking a model. @throws UsageError for an invalid argument. */
export async function statusAnswer(
  { name, argument }: StatusCommand,
  opened: HostSession,
  place: AnswerContext,
): Promise<string> {
  return answers[name](opened, argument, place)
}

function goalsOf({ snapshot }: HostSession['session']): string {
  return goalRows(snapshot.goal).join('\n')
}

/**
 * A message may contain text from anyone, so it cannot change the goals that the session was started with.
 * @throws UsageError
 */
function checkGoalsOfStart({ snapshot }: HostSession['session'], { goal }: Flags): void {
  if (goal === undefined && snapshot.goal?.goals.some(({ judged }) => judged !== true) !== true) return
  throw new UsageError(
    'This session was started with goals, which a message cannot change. Nothing was changed. Start it again with --resume and other goals.',
  )
}

/**
 * A message may contain text from anyone, so it cannot raise the limits that the host set.
 * @throws UsageError
 */
function checkCeilings(change: LimitsChange, flags: Flags): void {
  const ceilings = limitsFromFlags(flags)
  for (const name of limitNames) {
    const [wanted, ceiling] = [change[name], ceilings[name]]
    if (wanted === undefined || ceiling === undefined || ceiling === Infinity || (wanted !== null && wanted <= ceiling))
      continue
    throw new UsageError(
      `This session was started with a limit of ${settableLimits[name].format(ceiling)}, which a message cannot raise. Nothing was changed. Start it again with --resume and another limit.`,
    )
  }
}

function textOf({ heading, rows }: StatusReport, remark?: string): string {
  return [heading, ...rows, ...(remark === undefined ? [] : [`  ${remark}`])].join('\n')
}
