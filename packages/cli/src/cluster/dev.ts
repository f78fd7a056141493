import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Worker } from '@halting/restate'
import type { RunResult } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import { closingLine } from '../headless/ending.ts'
import { watchInterruption, type Interruption } from '../headless/interruption.ts'
import { runOnce } from '../headless/run.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { userFolder } from '../terminal/user-folder.ts'
import { UsageError } from '../usage-error.ts'
import { freePort, startEngine, type EngineProcess } from './engine-process.ts'
import { loadRestate } from './load-restate.ts'
import { requestedRun } from './requested-run.ts'
import { limitQuestionLine, permissionRequestLine } from './request-lines.ts'
import { serverBinary } from './server-binary.ts'
import { startServingWorker } from './serve.ts'
import { statfs } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

const graceMs = 5_000
const workerPort = 9080
const scripted = {
  prompt: 'Read config.mjs and fix the bug on line 42. Run node check.mjs to check it.',
  rules: ['Edit(./config.mjs)', 'Bash(node check.mjs)'],
}

/** `halting cluster dev`: runs a cluster of one node on this machine until Ctrl-C. `halting cluster budget` is in tenant-budget.ts. */
export async function cluster(
  flags: Flags,
  [what, prompt, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (what !== 'dev' || more.length > 0)
    throw new UsageError(
      'Use halting cluster dev ["PROMPT"] for a cluster on this machine, or halting cluster budget TENANT --cluster URL.',
    )
  if (flags.cluster !== undefined) throw new UsageError('halting cluster dev starts its own cluster. Remove --cluster.')
  await loadRestate('cluster dev')
  const binary = await serverBinary(flags, program)
  const folder = join(userFolder(program), 'cluster-dev')
  const interruption = watchInterruption(program.output)
  let engine: EngineProcess | undefined
  let worker: Worker | undefined
  try {
    engine = await startEngine(binary, folder)
    // If a restart fails, the engine has exited, which `engine.gone` reports below.
    void watchFullDisk({
      engine,
      folder,
      signal: interruption.signal,
      report: (message) => program.output.err(programMessage(message)),
    }).catch(() => undefined)
    const devRun = chooseDevRun(flags, prompt, program)
    worker = await startServingWorker(
      {
        ...devRun.flags,
        restate: engine.ingress,
        admin: engine.admin,
        identityKey: [...(flags.identityKey ?? []), engine.identityKey],
        port: flags.port ?? (await freePort(workerPort)),
        workspaces: flags.workspaces ?? join(folder, 'workspaces'),
      },
      program,
    )
    await worker.register(interruption.signal)
    program.output.out(
      `Cluster with one node: requests at ${engine.ingress}, administration at ${engine.admin}, worker at ${worker.url}.\nData: ${folder}\n\n`,
    )
    const sessionId = await runPrompt(devRun, engine, program, interruption)
    printNextCommands({ ...devRun, sessionId, port: await freePort(workerPort) }, engine, program)
    await new Promise<void>((resolve) => {
      if (interruption.signal.aborted) resolve()
      interruption.signal.addEventListener('abort', () => resolve())
      void engine?.gone.then(resolve)
    })
  } catch (error) {
    if (!interruption.signal.aborted) throw error
  } finally {
    await worker?.drain(graceMs)
    await worker?.close()
    await engine?.end()
    interruption.release()
  }
  if (interruption.signal.aborted) return 0
  throw new UsageError(`The server stopped unexpectedly. See ${join(folder, 'server.log')}.`)
}

interface DevRun {
  readonly flags: Flags
  readonly prompt: string
}

/** The user's model and prompt if the flags name a model; otherwise the example with its scripted model. */
function chooseDevRun(flags: Flags, prompt: string | undefined, { home, output }: Program): DevRun {
  if (flags.model !== undefined || flags.script !== undefined)
    return { flags, prompt: prompt ?? 'Say in one sentence what you can do here.' }
  if (prompt !== undefined) throw new UsageError('A prompt needs a model: halting cluster dev "PROMPT" --model NAME.')
  const example = fileURLToPath(new URL('examples/fix-the-bug/', home))
  if (!existsSync(example))
    throw new UsageError(`The example was not found: ${example}. Reinstall halting; the package contains it.`)
  output.out('The model is scripted: no key, no network, no cost. For a real one, use --model NAME.\n')
  return {
    flags: {
      ...flags,
      script: join(example, 'script.json'),
      workspaceTemplate: flags.workspaceTemplate ?? example,
      allowedTools: [...(flags.allowedTools ?? []), ...scripted.rules],
      maxTurns: flags.maxTurns ?? 10,
      maxBudgetUsd: flags.maxBudgetUsd ?? 5,
    },
    prompt: scripted.prompt,
  }
}

async function runPrompt(
  { prompt }: DevRun,
  engine: EngineProcess,
  program: Program,
  interruption: Interruption,
): Promise<string> {
  const { output } = program
  const flags = { cluster: engine.ingress }
  const { openRemoteSession } = await import('./remote-session.ts')
  const note = (text: string): void => output.err(programMessage(text))
  const { session } = await openRemoteSession(flags, program, { supportedFlags: [], note })
  const messageId = randomUUID()
  output.out(`> ${prompt}\n`)
  try {
    await runOnce({
      session: requestedRun(session, {
        messageId,
        onQuestion: (question) => output.err(permissionRequestLine(session.id, question, engine.ingress)),
        onLimit: (request) => output.err(limitQuestionLine(session.id, request, engine.ingress)),
        onNote: note,
      }),
      ask: () => void session.prompt(prompt, { id: messageId }),
      interruption,
      watcher: {
        onEvent() {},
        see(message) {
          if (message.type === 'result') output.out(`${message.result ?? message.last_answer ?? ''}\n`)
        },
        end: (terminal) => output.out(`${endingText(terminal)}\n`),
        after() {},
        release() {},
      },
    })
  } finally {
    await session.close()
  }
  output.out(`Session ${session.id}\n\n`)
  return session.id
}

function endingText(terminal: RunResult): string {
  return terminal.reason === 'completed'
    ? closingLine(terminal, '')
    : programMessage(oneLine(terminal.signal.message, 300)).trim()
}

function printNextCommands(
  { prompt, sessionId, port }: DevRun & { readonly sessionId: string; readonly port: number },
  { ingress, identityKey }: EngineProcess,
  { output }: Program,
): void {
  const commands = [
    ['-p', prompt, '--cluster', ingress],
    ['sessions', '--cluster', ingress],
    ['why', sessionId, '--cluster', ingress],
    ['serve', '--restate', ingress, '--register', '--port', String(port), '--identity-key', identityKey],
  ]
  output.out(
    `Try next, in another terminal:\n${commands.map((each) => `  halting ${shellQuoted(each)}\n`).join('')}\nCtrl-C stops the cluster; its data stays.\n`,
  )
}

const checkIntervalMs = 5_000
/** The number of free bytes required for a restart. The engine accepts writes again with 64 MiB free, and its restart needs some more. */
const restartBytes = 160_000_000

/** Whether a node's metrics say that its log accepts no records until a restart, for example after the disk was full. */
export function isLogDisabled(metrics: string): boolean {
  return /^restate_log_server_store_records_total\{[^}]*status="disabled"[^}]*\} 0*[1-9]/m.test(metrics)
}

export interface FullDiskOptions {
  readonly engine: Pick<EngineProcess, 'node' | 'restart'>
  /** The folder with the data of the engine. */
  readonly folder: string
  readonly signal: AbortSignal
  readonly report: (message: string) => void
  /** Returns the number of free bytes. Replaced in tests. */
  readonly freeBytes?: (folder: string) => Promise<number>
  readonly intervalMs?: number
}

/** Restarts the engine when its log accepts no more records and the disk has room again. Ends when `signal` is aborted. Rejects if a restart fails. */
export async function watchFullDisk({
  engine,
  folder,
  signal,
  report,
  freeBytes = freeBytesOf,
  intervalMs: betweenMs = checkIntervalMs,
}: FullDiskOptions): Promise<void> {
  let isReported = false
  while (!signal.aborted) {
    await pause(betweenMs, undefined, { signal, ref: false }).catch(() => undefined)
    if (signal.aborted || !isLogDisabled(await metricsOf(engine.node))) continue
    if ((await freeBytes(folder)) < restartBytes) {
      if (!isReported)
        report(
          `the server cannot write: the disk of ${folder} is full. It restarts when ${restartBytes / 1e6} MB are free.`,
        )
      isReported = true
      continue
    }
    await engine.restart()
    report('the server could not write and was restarted. Sessions continue.')
    isReported = false
  }
}

async function metricsOf(node: string): Promise<string> {
  const response = await fetch(`${node}/metrics`, { signal: AbortSignal.timeout(3_000) }).catch(() => undefined)
  return (await response?.text().catch(() => '')) ?? ''
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
