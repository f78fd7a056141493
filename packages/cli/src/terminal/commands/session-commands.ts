import { storedSessions } from '@halting/journal'
import type { RewindOptions } from '@halting/core/session'
import { UsageError } from '../../usage-error.ts'
import { many, money, oneLine } from '../../io/figures.ts'
import { findSession } from '../../stored-sessions/find-session.ts'
import { sessionScope } from '@halting/agent/session-settings'
import type { AppContext, OpenSession, ClusterConnection } from '../app/context.ts'
import { promptsIn } from '../app/transcript-entries.ts'
import type { Flags } from '../../flags/flags.ts'
import { promptText } from '../view/prompt-text.ts'
import type { Command } from './command.ts'

/** The flags for another session: without those that chose the current one. */
function flagsFor(flags: Flags, chosen: Pick<Flags, 'resume' | 'forkSession'>): Flags {
  const {
    resume: _r,
    continue: _c,
    forkSession: _f,
    sessionId: _s,
    resumeSessionAt: _a,
    resumeDropsTurn: _d,
    ...others
  } = flags
  return { ...others, ...chosen }
}

/** A run on a cluster continues without this program, so it does not prevent leaving the session. */
function refuseWhileRunningLocally(app: AppContext, what: string): boolean {
  return app.cluster === undefined && refuseWhileRunning(app, what)
}

function refuseWhileRunning(app: AppContext, what: string): boolean {
  const status = app.open?.session.snapshot.status
  if (status === undefined || status === 'idle' || status === 'closed') return false
  app.note(`A run is in progress. Stop it with Esc, then ${what}.`)
  return true
}

/** @throws UsageError while no session is open. */
export function requireOpenSession({ open }: Pick<AppContext, 'open'>): OpenSession {
  if (open === undefined) throw new UsageError('The session is still opening.')
  return open
}

const clear: Command = {
  description: 'Start a new session; this one stays stored',
  async run(app) {
    if (refuseWhileRunningLocally(app, 'start a new session')) return
    const before = app.open?.session.id
    await app.switchSession(
      flagsFor(app.flags, {}),
      before === undefined ? 'New session.' : `New session. Back to the previous one: /resume ${before}`,
    )
  },
}

const resume: Command = {
  description: 'Resume another session',
  argumentHint: '[ID]',
  async run(app, argument) {
    if (refuseWhileRunningLocally(app, 'resume another session')) return
    const id = argument === '' ? await chooseSession(app) : await findSessionId(app, argument)
    if (id === undefined) return
    if (id === app.open?.session.id) return app.note('That session is already open.')
    await app.switchSession(flagsFor(app.flags, { resume: id }), `Resumed session ${id}`)
  },
}

async function findSessionId({ cluster, program }: AppContext, prefix: string): Promise<string> {
  if (cluster === undefined) return (await findSession(prefix, program)).sessionId
  const { sessions } = await cluster.sessions().catch(() => ({ sessions: [] }))
  const [found, ...more] = sessions.filter(({ sessionId }) => sessionId.startsWith(prefix))
  // A session that is not in the list needs its full id.
  return found === undefined || more.length > 0 ? prefix : found.sessionId
}

async function chooseSession(app: AppContext): Promise<string | undefined> {
  const { cluster } = app
  return cluster === undefined ? chooseLocalSession(app) : chooseClusterSession(app, cluster)
}

async function chooseClusterSession(app: AppContext, cluster: ClusterConnection): Promise<string | undefined> {
  const { sessions, total } = await cluster.sessions()
  const others = sessions.filter(({ sessionId }) => sessionId !== app.open?.session.id)
  if (others.length === 0) {
    app.note(`The cluster ${cluster.url} has no other session.`)
    return undefined
  }
  return app.ask({
    title: 'Resume:',
    hint: 'Enter resume · type to filter · Esc cancel',
    ...(total > sessions.length && {
      notes: () => [`${many(sessions.length, 'session')} of ${total}. Another one: /resume ID`],
    }),
    choices: others.map(({ sessionId, facts }) => ({
      value: sessionId,
      label: oneLine(sessionId, 60),
      detail: facts,
      alsoFoundBy: sessionId,
    })),
  })
}

async function chooseLocalSession(app: AppContext): Promise<string | undefined> {
  const { summariesOf } = await import('../../stored-sessions/session-summaries.ts')
  const all = await summariesOf((await storedSessions(sessionScope(app.program), 'of this folder')).slice(0, 200))
  const others = all.filter(({ sessionId, problem }) => sessionId !== app.open?.session.id && problem === undefined)
  if (others.length === 0) {
    app.note('There is no other session for this folder.')
    return undefined
  }
  return app.ask({
    title: 'Resume:',
    hint: 'Enter resume · type to filter · Esc cancel',
    choices: others.map(({ sessionId, changedAt, title, firstPrompt, turns, costUsd, ended, heldBy }) => ({
      value: sessionId,
      label: firstPrompt === '' && title === undefined ? '(no prompt)' : oneLine(title ?? firstPrompt, 60),
      detail: [
        changedAt.toISOString().slice(0, 16).replace('T', ' '),
        many(turns, 'turn'),
        ...(costUsd > 0 ? [money(costUsd)] : []),
        heldBy === undefined ? (ended === 'open' ? 'unfinished' : ended) : `running in process ${heldBy}`,
        sessionId.slice(0, 8),
      ].join(', '),
      alsoFoundBy: `${sessionId} ${title ?? ''} ${firstPrompt}`,
    })),
  })
}

const fork: Command = {
  description: 'Continue in a copy of this session',
  async run(app) {
    if (refuseWhileRunning(app, 'fork')) return
    const session = app.open?.session
    if (session === undefined) return
    await app.switchSession(
      flagsFor(app.flags, { resume: session.id, forkSession: true }),
      `Continuing in a copy. Back to the original: /resume ${session.id}`,
    )
  },
}

type RewindScope = NonNullable<RewindOptions['what']>

const rewind: Command = {
  description: 'Rewind to before a message',
  async run(app) {
    if (refuseWhileRunning(app, 'rewind')) return
    const session = app.open?.session
    if (session === undefined) return
    const prompts = promptsIn(await requireOpenSession(app).entries())
    // A message may have been sent while the entries were read.
    if (refuseWhileRunning(app, 'rewind')) return
    if (prompts.length === 0) return app.note('There is no message to rewind to yet.')
    const before = await app.ask({
      title: 'Rewind to before:',
      hint: 'Enter choose · type to filter · Esc cancel',
      first: prompts.length - 1,
      choices: prompts.map(({ id, text }) => ({ value: id, label: oneLine(text, 200) })),
    })
    if (before === undefined) return
    const what = await askRewindScope(app, before)
    if (what === undefined) return
    const { content, files, left } = await session.rewind({ before, what })
    if (what !== 'files') app.editor.putBefore([promptText(content)])
    const outcome = what === 'files' ? 'Reverted the files' : 'Rewound the conversation'
    app.note(
      `${outcome} to before that message${files.length === 0 ? '' : ` (${many(files.length, 'file')} reverted)`}.`,
    )
    if (app.cluster !== undefined) app.note('Files on the worker are not reverted.')
    for (const { path, because } of left) app.note(`Not reverted: ${path} (${because})`)
  },
}

/** Reverts file changes since the last message of the person, after confirmation. */
export async function undoChanges(app: AppContext): Promise<void> {
  if (refuseWhileRunning(app, 'undo')) return
  const { session } = requireOpenSession(app)
  const before = promptsIn(await requireOpenSession(app).entries()).at(-1)
  if (before === undefined) return app.note('There is no message to rewind to yet.')
  const would = await session.rewind({ before: before.id, what: 'files', dryRun: true })
  if (would.files.length === 0) {
    app.note('No file changed since your last message can be reverted.')
    for (const { path, because } of would.left) app.note(`Not reverted: ${path} (${because})`)
    return
  }
  const isSure = await app.ask({
    title: `Revert ${many(would.files.length, 'file')}?`,
    hint: 'Enter choose · Esc cancel',
    notes: () => would.files.slice(0, 8).map((path) => oneLine(path, 200)),
    choices: [
      {
        value: true,
        label: 'Yes',
        detail: `+${would.insertions} −${would.deletions} since "${oneLine(before.text, 60)}"`,
      },
      { value: false, label: 'No' },
    ],
  })
  if (isSure !== true || refuseWhileRunning(app, 'undo')) return
  const { files, left } = await session.rewind({ before: before.id, what: 'files' })
  app.note(`Reverted ${many(files.length, 'file')}. The conversation is unchanged.`)
  for (const { path, because } of left) app.note(`Not reverted: ${path} (${because})`)
}

/** Asks what to rewind, if files were changed since then. */
async function askRewindScope(app: AppContext, before: string): Promise<RewindScope | undefined> {
  const would = await app.open?.session.rewind({ before, what: 'both', dryRun: true }).catch(() => undefined)
  if (would === undefined || (would.files.length === 0 && would.left.length === 0)) return 'conversation'
  const { files, insertions, deletions, left } = would
  const changes = `${many(files.length, 'file')} +${insertions} −${deletions}`
  const stay = left.length === 0 ? '' : `, ${many(left.length, 'file')} cannot be reverted`
  return app.ask<RewindScope>({
    title: 'Rewind what?',
    hint: 'Enter rewind · Esc cancel',
    choices: [
      { value: 'conversation', label: 'The conversation', detail: 'files stay unchanged' },
      { value: 'both', label: 'The conversation and the files', detail: changes + stay },
      { value: 'files', label: 'Only the files', detail: changes + stay },
    ],
  })
}

const compact: Command = {
  description: 'Compact the conversation',
  argumentHint: '[what to keep]',
  run(app, argument) {
    app.open?.session.compact(argument === '' ? undefined : argument)
  },
}

const quit: Command = { description: 'Leave', run: (app) => app.leave(0) }

export const sessionCommands: {
  readonly [name in 'clear' | 'resume' | 'fork' | 'rewind' | 'compact' | 'quit']: Command
} = { clear, resume, fork, rewind, compact, quit }
