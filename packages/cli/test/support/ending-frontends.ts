import { methods } from '@agentclientprotocol/sdk'
import { createPermissions } from '@halting/policy'
import { startAgent } from './acp-agent.ts'
import { type EndingRun, openEndingRun, sessionPartsOf, triggerEvent } from './ending-runs.ts'
import { programInMemory } from './program-in-memory.ts'
import { HostServers } from '../../src/host/host-servers.ts'
import { noPlugins } from '@halting/agent/session-settings'
import type { Flags } from '../../src/flags/flags.ts'
import { serveHost } from '../../src/host/host.ts'
import { watchInterruption } from '../../src/headless/interruption.ts'
import { createReport } from '../../src/headless/report.ts'
import { runOnce } from '../../src/headless/run.ts'
import { styleFor } from '../../src/io/style.ts'
import { key, startApp } from '../terminal/app-support.ts'

// What each frontend shows of a run: the same run, through the real frontend.

/** The result line that a host receives. */
export interface ResultLine {
  readonly type: 'result'
  readonly subtype: string
  readonly is_error: boolean
  readonly errors?: readonly string[]
  readonly terminal_reason: string
  readonly stop: Stop
}

/** What a frontend reports of the ending, as a record. */
interface Stop {
  readonly reason: string
  readonly category: string
}

export interface TerminalEnding {
  readonly says: string
  /** Name of the reason, if it follows the message. */
  readonly reason: string | undefined
  readonly offers: readonly string[]
}

/** A terminal that is wide enough for each line. */
const columns = 400

/** What the interactive program prints after the run. */
export async function runInTerminal(run: EndingRun): Promise<TerminalEnding> {
  const { terminal, say } = await startApp({
    columns,
    async open(_flags, { cwd }) {
      const session = openEndingRun(run, cwd, {
        cancel: () => terminal.type(key.escape),
        // The reader is the user, who leaves only with the program.
        leave: () => session.interrupt({ because: 'abandoned' }),
      })
      const permissions = createPermissions({ cwd })
      return {
        session,
        prepare: async (text) => ({ content: text }),
        commands: [],
        earlierEntries: async () => [],
        entries: async () => [],
        redact: (text) => text,
        explain: (command) => permissions.explain(command),
        local: undefined,
      }
    },
  })
  say('go')
  // It is printed with a frame, and so all at once.
  await terminal.holds(/^(?:✓ done|■ (?:Stopped|Ended))/m)
  const lines = terminal.all()
  const at = lines.findIndex((line) => /^(?:✓ done|■ (?:Stopped|Ended))/.test(line))
  const [, says = '', reason] = /^(.*?)(?: {2}\[(\w+)\])?$/.exec(lines[at] ?? '') ?? []
  const offered = lines.slice(at).find((line) => line.endsWith('or type a prompt')) ?? ''
  return {
    says,
    reason,
    offers: offered
      .split('   ')
      .map((offer) => offer.trim())
      .slice(0, -1),
  }
}

interface HostOptions {
  readonly flags?: Flags
  /** Resolves when everything is written to disk. */
  readonly flush?: (written: string) => Promise<void>
}

/** The lines that a `stream-json` host receives, and the exit code of the program. */
export async function runOnHost(
  run: EndingRun,
  cwd: string,
  { flags = {}, flush = async () => undefined }: HostOptions = {},
): Promise<{ result: ResultLine | undefined; exitCode: number; written: string }> {
  const program = programInMemory({ cwd, env: {} })
  const say = (message: object): boolean => program.stdin.write(`${JSON.stringify(message)}\n`)
  const served = serveHost(flags, program, async (_given, control) => {
    const session = openEndingRun(run, cwd, {
      cancel: () => say({ type: 'control_request', request_id: '1', request: { subtype: 'interrupt' } }),
      leave: program.readerGoes,
    })
    session.listen(({ type }) => {
      if (type === 'run_end') program.stdin.end()
    })
    return {
      session,
      initFields: () => ({}),
      initializeResponse: {},
      prepare: (content) => ({ content }),
      servers: undefined,
      hostServers: new HostServers(control),
      env: {},
      commands: () => [],
      agents: () => [],
      plugins: () => noPlugins,
      reload: async () => undefined,
      hasPlugin: () => false,
      hasFileCheckpoints: false,
      memoryFiles: () => [],
      agentTokens: () => [],
      flush: () => flush(program.written()),
      close: () => session.close(),
    }
  })
  say({ type: 'user', message: { role: 'user', content: 'go' }, parent_tool_use_id: null, session_id: '' })
  const exitCode = await served
  return { result: resultIn(program.written()), exitCode, written: program.written() }
}

function resultIn(written: string): ResultLine | undefined {
  const lines = written.split('\n').filter((line) => line.includes('"type":"result"'))
  if (lines.length > 1) throw new Error(`${lines.length} result lines`)
  // True: a host parses lines this way.
  return lines[0] === undefined ? undefined : (JSON.parse(lines[0]) as ResultLine)
}

/** The result line and the exit code of `halting -p`. */
export async function runHeadless(
  run: EndingRun,
  cwd: string,
): Promise<{ result: ResultLine | undefined; exitCode: number }> {
  const program = programInMemory({ cwd, env: {} })
  const { output } = program
  const session = openEndingRun(run, cwd, {
    cancel: () => void process.emit('SIGINT', 'SIGINT'),
    leave: program.readerGoes,
  })
  const interruption = watchInterruption(output)
  const watcher = createReport({
    flags: { outputFormat: 'json' },
    output,
    style: styleFor(false, {}),
    remedies: () => undefined,
    sessionId: session.id,
    isStored: false,
    invocation: { argv: [], argument: 'go', prompt: 'go' },
  })
  try {
    const ask = (): void => void session.prompt('go')
    const exitCode = await runOnce({
      session,
      ask,
      interruption,
      watcher,
    })
    return { result: resultIn(program.written()), exitCode }
  } finally {
    interruption.release()
    await session.close()
  }
}

export interface EditorEnding {
  /** The stop reason, or `error`. */
  readonly stopReason: string
  readonly stop: Stop
  /** Messages other than the model's text: notices if the editor supports them, otherwise text. */
  readonly says: string
}

/** The answer to a prompt in an editor, and its messages. */
export async function runInEditor(
  run: EndingRun,
  { notices = true } = {},
): Promise<EditorEnding & Pick<Awaited<ReturnType<typeof startAgent>>, 'wire' | 'updates'>> {
  const { options, clock } = sessionPartsOf(run)
  const { agent, newSession, updates, text, wire } = await startAgent({
    model: options.model,
    options,
    capabilities: notices ? { session: { notices: {} } } : {},
    opened: (session) =>
      triggerEvent(run, {
        session,
        clock,
        cancel: () => void agent.notify(methods.agent.session.cancel, { sessionId: session.id }),
        leave: () => session.interrupt({ because: 'abandoned' }),
      }),
  })
  const { sessionId } = await newSession()
  const asked = agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'go' }] })
  const answer = await asked.then(
    // True: our own record.
    ({ stopReason, _meta }) => ({ stopReason: stopReason as string, stop: _meta?.['halting/stop'] as Stop }),
    // True: the library rejects with this.
    ({ data }: { readonly data: { readonly stop: Stop } }) => ({ stopReason: 'error', stop: data.stop }),
  )
  const says = notices
    ? updates('notice')
        .map(({ title }) => String(title))
        .join('\n')
    : text()
  return { ...answer, says, wire, updates }
}
