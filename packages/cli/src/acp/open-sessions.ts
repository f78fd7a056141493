import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Flags } from '../flags/flags.ts'
import { waitOfPeople } from '../flags/run-limit.ts'
import { programMessageLines, oneLine, programMessage } from '../io/figures.ts'
import type { Output } from '../io/output.ts'
import type { Program } from '../program.ts'
import { listedAliases, modelsWithKey } from '@halting/agent/session-settings'
import { openLiveSession } from '../flags/open-session.ts'
import { findMissingKey } from '../flags/missing-key.ts'
import { UsageError } from '../usage-error.ts'
import { invalidParamsError } from './errors.ts'
import type { SessionOpener, OpenSessionRequest, OpenedSession } from './session-opener.ts'
import { withImages } from './prompt-content.ts'
import { ServerQuestions } from './server-questions.ts'
import { readEntries, findSessionFile } from './session-list.ts'
import {
  type McpServer,
  type AgentContext,
  type FileSystemCapabilities,
  methods,
  type ReadTextFileResponse,
} from '@agentclientprotocol/sdk'
import type { McpServerEntry } from '@halting/agent/mcp'
import type { EditorFiles } from '@halting/agent'

/** Opens sessions with the flags of the program, each in its own folder. @throws UsageError for flags that name a session. */
export async function openerOf(flags: Flags, program: Program): Promise<SessionOpener> {
  for (const [flag, flagValue] of [
    ['--resume', flags.resume],
    ['--continue', flags.continue],
    ['--session-id', flags.sessionId],
    ['--fork-session', flags.forkSession],
  ] as const)
    if (flagValue !== undefined)
      throw new UsageError(`halting acp opens the sessions that the editor asks for. Remove ${flag}.`)
  if (flags.cluster !== undefined)
    return (await import('../cluster/acp-sessions.ts')).clusterSessionOpener(flags, program)
  const absolute = (folders: readonly string[]): readonly string[] => folders.map((path) => resolve(program.cwd, path))
  // The editor chooses the folder of a session, so relative paths are resolved from the folder of the program.
  const sessionFlags: Flags = {
    ...flags,
    ...(flags.pluginDir !== undefined && { pluginDir: absolute(flags.pluginDir) }),
    ...(flags.pluginDirNoMcp !== undefined && { pluginDirNoMcp: absolute(flags.pluginDirNoMcp) }),
  }
  return {
    open: (request) => openIn(request, sessionFlags, program),
    missingKey: () => findMissingKey(sessionFlags, program),
    async history(sessionId) {
      const file = await findSessionFile(sessionId, program)
      return file === undefined ? undefined : { entries: await readEntries(file) }
    },
  }
}

async function openIn(request: OpenSessionRequest, flags: Flags, program: Program): Promise<OpenedSession> {
  const { cwd, additionalDirectories, servers, resume, client, capabilities } = request
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw invalidParamsError(`The directory ${cwd} does not exist. A session needs an existing one.`)
  const notes = new NoteForwarder(program.output)
  const sessionFlags: Flags = {
    ...flags,
    addDir: [...(flags.addDir ?? []), ...additionalDirectories],
    ...(resume !== undefined && { resume }),
  }
  const note = (text: string): void => notes.output.err(programMessage(oneLine(text, 1_000)))
  const questions = new ServerQuestions({ client, capabilities, note })
  const live = await openLiveSession(
    sessionFlags,
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

/** Forwards the messages of the program to the editor, and to stderr, which editors store. */
class NoteForwarder {
  readonly output: Output
  readonly #waiting: string[] = []
  #listener: ((text: string) => void) | undefined

  constructor(outer: Output) {
    const err = (text: string): void => {
      outer.err(text)
      const message = programMessageLines(text).join('\n')
      if (this.#listener === undefined) this.#waiting.push(message)
      else this.#listener(message)
    }
    // This cast is safe: everything else is inherited from the output of the program.
    this.output = Object.create(outer, { err: { value: err } }) as Output
  }

  listen(listener: (text: string) => void): void {
    this.#listener = listener
    for (const text of this.#waiting.splice(0)) listener(text)
  }
}

/** The MCP servers that a client gives to a session. Their values are taken literally, without variable expansion. */
export function serverEntriesOf(servers: readonly McpServer[]): readonly McpServerEntry[] {
  return servers.map((server) => ({ name: server.name, server: configOf(server) }))
}

function configOf(server: McpServer): McpServerEntry['server'] {
  if (!('type' in server)) return { type: 'stdio', command: server.command, args: server.args, env: pairs(server.env) }
  if (!/^https?:\/\//i.test(server.url) || !URL.canParse(server.url))
    return { problem: 'its url must begin with http:// or https://' }
  return { type: server.type, url: server.url, headers: pairs(server.headers) }
}

function pairs(
  entries: readonly { readonly name: string; readonly value: string }[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(entries.map(({ name, value }) => [name, value]))
}

/**
 * Reads and writes files through the client, as far as it supports that (spec R-ACP-12). A file that it refuses, such as one outside its project, is
 * accessed on disk.
 */
export function clientFiles(
  client: AgentContext,
  sessionId: () => string,
  { readTextFile, writeTextFile }: FileSystemCapabilities,
): EditorFiles | undefined {
  if (readTextFile !== true && writeTextFile !== true) return undefined
  return {
    ...(readTextFile === true && {
      async read(path: string, signal: AbortSignal) {
        try {
          const request = { sessionId: sessionId(), path }
          const read: ReadTextFileResponse = await client.request(
            methods.client.fs.readTextFile,
            request,
            waiting(signal),
          )
          // Clients may answer with any value.
          return typeof read.content === 'string' ? read.content : undefined
        } catch (thrown) {
          if (signal.aborted) throw thrown
          return undefined
        }
      },
    }),
    ...(writeTextFile === true && {
      async write(path: string, text: string, signal: AbortSignal) {
        try {
          const request = { sessionId: sessionId(), path, content: text }
          await client.request(methods.client.fs.writeTextFile, request, waiting(signal))
          return true
        } catch (thrown) {
          if (signal.aborted) throw thrown
          return false
        }
      },
    }),
  }
}

function waiting(signal: AbortSignal): {
  readonly cancellationSignal: AbortSignal
  readonly stopWaitingOnCancel: true
} {
  return { cancellationSignal: signal, stopWaitingOnCancel: true }
}
