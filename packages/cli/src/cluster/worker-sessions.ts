import type { SessionToOpen, WorkerSession } from '@halting/restate'
import type { SessionParts, Session } from '@halting/core/session'
import { ConfigurationError, Transcript, type LimitsChange, type SettingsChange } from '@halting/core'
import { systemClock } from '@halting/core/steps'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { isMissingKey } from '../flags/missing-key.ts'
import { openLiveSession, type LiveSession } from '../flags/open-session.ts'
import { UsageError } from '../usage-error.ts'
import { clusterTokenVariable } from './cluster-token-variable.ts'
import { flagsWithOpening, parseOpening } from './session-opening.ts'
import type { Gates } from './gates.ts'
import { bucketKeyVariables } from './payloads.ts'
import type { WorkerLog } from './worker-log.ts'
import { workerTokenVariable } from './worker-token.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { Workspaces } from './workspaces.ts'
import { flagTable } from '../flags/table.ts'
import { limitFlags } from '../flags/limit-flags.ts'

export interface WorkerSessionsOptions {
  readonly flags: Flags
  readonly program: Program
  readonly log: Pick<WorkerLog, 'ofSession'>
  /** Counts the events of runs. */
  readonly metrics?: Pick<Metrics, 'listener'>
  readonly workspaces: Workspaces
  /** Delays requests until the rate limit allows them. */
  readonly gates?: Gates | undefined
  /** Creates the error that refuses a session permanently. */
  readonly refusal: (message: string) => Error
}

/** Opens a session in this process with the flags of the worker, in the folder of the session. */
export async function openWorkerSession(options: WorkerSessionsOptions, asked: SessionToOpen): Promise<WorkerSession> {
  try {
    return await openSession(options, asked)
  } catch (error) {
    if (isMissingKey(error)) throw options.refusal(`The worker has no key for its model. ${error.message}`)
    const isUsers = error instanceof UsageError || error instanceof ConfigurationError
    throw isUsers ? options.refusal(error.message) : error
  }
}

async function openSession(
  { flags, program, log, workspaces, gates, metrics }: WorkerSessionsOptions,
  { sessionId, opening: given, journal, now }: SessionToOpen,
): Promise<WorkerSession> {
  const opening = parseOpening(given)
  const localJournal = withLocalTranscript(journal)
  const isNew = localJournal.open === undefined && localJournal.ended.length === 0
  const cwd = await workspaces.folderFor({ sessionId, isNew, forkedFrom: opening.forkedFrom, folder: opening.folder })
  const live = await openLiveSession(
    flagsWithOpening(flags, opening),
    programInFolder(program, cwd, log.ofSession(sessionId), flags.passEnv ?? []),
    {
      // Clients can answer permission requests at any later time, because the engine stores them.
      answersQuestions: flags.onAsk === undefined,
      confinesEdits: true,
      limitCeilings: (settings) => limitCeilings({ ...settingsLimits(settings), ...flags }),
      kept: localJournal,
      // Another process may continue its waits, so they use the engine's clock.
      ...(now !== undefined && { clock: { ...systemClock, wallTime: now } }),
      // Clients may choose a model, but not which package the worker loads.
      packagesOf: [
        flags.model,
        flags.fallbackModel,
        flags.compactModel,
        flags.smallModel,
        program.env['ANTHROPIC_MODEL'],
      ].filter((name) => name !== undefined),
      ...(metrics !== undefined && { openMetrics: (id) => metrics.listener(id) }),
      ...(gates !== undefined && { aroundModel: (...asked) => gates.throughGate(...asked, sessionId) }),
    },
  )
  return Object.assign(withinWorkerLimits(live.session, { ...settingsLimits(live.run.settings), ...flags }), {
    prepare: promptPreparer(live),
  })
}

/** Limits of the settings, by the names of flags. */
function settingsLimits({ limits = {} }: LiveSession['run']['settings']): Flags {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== null))
}

/**
 * Resolves commands and files in the folder of the session: in a text, or in the first of several blocks. Later blocks,
 * such as piped input, name none.
 */
function promptPreparer(live: Pick<LiveSession, 'prepare'>): NonNullable<WorkerSession['prepare']> {
  return async (content, signal) => {
    if (typeof content === 'string') return live.prepare(content, '', signal)
    const [first, ...others] = content
    if (first?.type !== 'text') return { content }
    const { content: resolved, ...prepared } = await live.prepare(first.text, '', signal)
    const blocks = typeof resolved === 'string' ? [{ ...first, text: resolved }] : resolved
    return { ...prepared, content: [...blocks, ...others] }
  }
}

/** A program whose output goes to the log of the worker. */
function programInFolder(
  program: Program,
  cwd: string,
  err: (text: string) => void,
  passEnv: readonly string[],
): Program {
  const { output } = program
  const env = { ...program.env }
  // These variables belong to the worker; a session that has them could access other sessions.
  for (const name of [workerTokenVariable, clusterTokenVariable, ...bucketKeyVariables])
    if (!passEnv.includes(name)) delete env[name]
  return {
    ...program,
    cwd,
    env,
    output: Object.create(output, { err: { value: err }, out: { value: err } }) as Program['output'],
  }
}

/** The cluster package has its own copy of core, so its transcripts are not instances of this program's class. */
function withLocalTranscript(
  journal: SessionToOpen['journal'],
): NonNullable<SessionParts['journal']> & { readonly sessionId: string } {
  return {
    sessionId: journal.sessionId,
    path: journal.path,
    log: journal.log,
    lease: journal.lease,
    get transcript() {
      return Transcript.of(journal.transcript.toJSON())
    },
    get open() {
      return journal.open
    },
    get ended() {
      return journal.ended
    },
    get stages() {
      return journal.stages
    },
    get isRewound() {
      return journal.isRewound
    },
    messageOf: (message) => journal.messageOf(message),
    rewind: (message) => journal.rewind(message),
  }
}

/** Makes the session refuse limits above those of its worker, with a ConfigurationError. */
export function withinWorkerLimits(session: Session, flags: Flags): Session {
  const set = session.set.bind(session)
  // `resume` also sets the limits of a session through this method.
  return Object.assign(session, {
    set(change: SettingsChange) {
      checkLimits(change.limits ?? {}, flags)
      set(change)
    },
  })
}

/** The highest limits that a paused session may offer, from the flags and settings of the worker. */
function limitCeilings(flags: Flags): LimitsChange {
  return Object.fromEntries(
    Object.entries(limitFlags).flatMap(([limit, flag]) => {
      const most = flags[flag]
      return most === undefined || most === Infinity ? [] : [[limit, most]]
    }),
  )
}

function checkLimits(limits: LimitsChange, flags: Flags): void {
  for (const [limit, flag] of Object.entries(limitFlags)) {
    const most = flags[flag]
    // This cast is safe: the keys of `limitFlags` are names of limits.
    const wanted = limits[limit as keyof LimitsChange]
    if (most === undefined || most === Infinity || wanted === undefined || (wanted !== null && wanted <= most)) continue
    throw new ConfigurationError(
      `${limit} of a session is limited to ${most} by ${flagTable[flag].names[0]} or the settings of the worker.`,
    )
  }
}
