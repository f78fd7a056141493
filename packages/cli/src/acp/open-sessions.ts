import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Flags } from '../flags/flags.ts'
import { waitOfPeople } from '../flags/run-limit.ts'
import { linesOfTold, oneLine, told } from '../io/figures.ts'
import type { Output } from '../io/output.ts'
import type { Program } from '../program.ts'
import { listedAliases, modelsWithKey } from '@halting/agent/session-settings'
import { openLiveSession } from '../flags/open-session.ts'
import { findMissingKey } from '../flags/missing-key.ts'
import { UsageError } from '../usage-error.ts'
import { clientFiles } from './client-files.ts'
import { invalid } from './errors.ts'
import type { Opener, OpenRequest, OpenedSession } from './opener.ts'
import { withImages } from './prompt-content.ts'
import { ServerQuestions } from './server-questions.ts'
import { serverEntriesOf } from './servers.ts'
import { entriesOf, keptFile } from './session-list.ts'

/** Opens sessions with the flags that the program was started with, each in its own folder. @throws UsageError for flags that name a session. */
export async function openerOf(flags: Flags, program: Program): Promise<Opener> {
  for (const [flag, given] of [
    ['--resume', flags.resume],
    ['--continue', flags.continue],
    ['--session-id', flags.sessionId],
    ['--fork-session', flags.forkSession],
  ] as const)
    if (given !== undefined)
      throw new UsageError(`halting acp opens the sessions that the editor asks for. Remove ${flag}.`)
  if (flags.cluster !== undefined)
    return (await import('../cluster/acp-sessions.ts')).clusterSessionOpener(flags, program)
  const absolute = (folders: readonly string[]): readonly string[] => folders.map((path) => resolve(program.cwd, path))
  // A session is in a folder of the editor's: what lies there is not what was named at the start.
  const own: Flags = {
    ...flags,
    ...(flags.pluginDir !== undefined && { pluginDir: absolute(flags.pluginDir) }),
    ...(flags.pluginDirNoMcp !== undefined && { pluginDirNoMcp: absolute(flags.pluginDirNoMcp) }),
  }
  return {
    open: (request) => openIn(request, own, program),
    missingKey: () => findMissingKey(own, program),
    async history(sessionId) {
      const file = await keptFile(sessionId, program)
      return file === undefined ? undefined : { entries: await entriesOf(file) }
    },
  }
}

async function openIn(request: OpenRequest, flags: Flags, program: Program): Promise<OpenedSession> {
  const { cwd, additionalDirectories, servers, resume, client, capabilities } = request
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw invalid(`The directory ${cwd} does not exist. A session needs an existing one.`)
  const notes = new Notes(program.output)
  const own: Flags = {
    ...flags,
    addDir: [...(flags.addDir ?? []), ...additionalDirectories],
    ...(resume !== undefined && { resume }),
  }
  const note = (text: string): void => notes.output.err(told(oneLine(text, 1_000)))
  const questions = new ServerQuestions({ client, capabilities, note })
  const live = await openLiveSession(
    own,
    { ...program, cwd, output: notes.output },
    {
      answersQuestions: true,
      unmetWithoutWork: 'end',
      background: 'keep',
      waitDefault: waitOfPeople,
      servers: serverEntriesOf(servers),
      elicit: questions.ask,
    },
  )
  const { session, toolbox } = live
  questions.attach(session)
  const files = clientFiles(client, () => session.id, capabilities.fs ?? {})
  if (files !== undefined) toolbox.workspace.editor = files
  return {
    session,
    commands: live.commands,
    models: [...listedAliases(live.run.settings), ...modelsWithKey(live.run)].map(({ name }) => name),
    async prepare({ parts, rest, images }, signal) {
      const prepared = await live.prepare(parts, rest, signal)
      return { ...prepared, content: withImages(prepared.content, images) }
    },
    onNote: (listener) => notes.listen(listener),
  }
}

/** What the program tells a person of a session goes to the editor, and to stderr, which editors keep. */
class Notes {
  readonly output: Output
  readonly #waiting: string[] = []
  #listener: ((text: string) => void) | undefined

  constructor(outer: Output) {
    const err = (text: string): void => {
      outer.err(text)
      const said = linesOfTold(text).join('\n')
      if (this.#listener === undefined) this.#waiting.push(said)
      else this.#listener(said)
    }
    // All else of it is that of the program.
    this.output = Object.create(outer, { err: { value: err } }) as Output
  }

  listen(listener: (text: string) => void): void {
    this.#listener = listener
    for (const text of this.#waiting.splice(0)) listener(text)
  }
}
