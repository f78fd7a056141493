import { type CallerRights, messageOf } from '@halting/core/adapters'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { constants } from 'node:os'
import { StringDecoder } from 'node:string_decoder'
import { isReadOnlyCommand } from '@halting/policy/shell'
import { BoundedOutput } from './bounded-output.ts'
import { OutputSpool } from './output-spool.ts'
import { expireMounts } from '@halting/policy/files'
import { hardenedEnvironment } from '@halting/policy/git'
import type { Environment, Limits } from './limits.ts'
import { markVariable, processScanStart, type ProcessGroup } from './process-group.ts'
import type { ProcessTable } from './process-table.ts'
import { notConfinable } from './shell-texts.ts'
import { whyNotStarted } from '../not-started.ts'
import type { Sandbox, SandboxedCommand } from '@halting/policy/sandbox'
import { SandboxError, type SessionWall } from '@halting/policy'
import { type CommandAftermath, type Confinement, EditWall, ToolCaches, TrialWall, Wall } from '@halting/policy/wall'

/** How a command ended. A command that cannot be started has also ended: that is a value, never an exception. */
export interface ShellEnd {
  readonly kind: 'exited' | 'killed' | 'not started'
  readonly exitCode: number | null
  /** The signal that ended the shell, or why it did not start. */
  readonly detail: string | undefined
  /** The shell's directory at its end; undefined if it did not report one. */
  readonly directory: string | undefined
  /** Effects of a command that was confined to the workspace, in addition to its output. */
  readonly aftermath?: CommandAftermath
  /**
   * The result of a trial: why the command has to run again, as the end of a sentence; undefined if it had no effects.
   */
  readonly trial?: { readonly effects: string | undefined }
  /** Why the effects of the command could not be determined. */
  readonly unsettled?: string
}

export interface ShellCommand {
  readonly output: BoundedOutput
  /** The whole output, if it is too long to show and is stored. */
  readonly spool: OutputSpool | undefined
  readonly ended: Promise<ShellEnd>
  /** Ends the command and everything that it started. Resolves when all of it has ended. */
  end(): Promise<void>
  /** Lets this program exit while the command is running. */
  unref(): void
  /** The command is confined by the sandbox: it cannot outlive this program. */
  readonly isConfined: boolean
  /** The process group of the shell; undefined if it did not start. */
  readonly groupId: number | undefined
  /** A mark by which a later process finds the command; undefined if it did not start. */
  readonly trace: string | undefined
  /** The pipe to which the command writes. */
  readonly pipe: Readable | undefined
  /** Lets processes that left the command's group continue. Returns them. */
  leaveDetached(): readonly number[]
  /** Lets the command outlive this program. */
  leave(): void
}

/** What a command needs from the session; a `Workspace` implements this interface. */
export interface ShellPlace {
  readonly env: Environment
  readonly limits: Limits
  readonly processes: ProcessTable
  /** Removes secrets from output of commands. */
  readonly redact?: (text: string) => string
  /** Confines commands. If absent, they run unconfined, like this program. */
  readonly sandbox?: Sandbox | undefined
  /** Confines commands that no rule allowed. */
  readonly wall?: SessionWall | undefined
  /** Folder for the whole text of long outputs (default: it is not stored). */
  readonly spoolFolder?: string | undefined
}

/** How a command is run: its directory, and for the sandbox its access and the rules of its caller. */
export interface ShellStart {
  readonly directory: string
  readonly access?: 'read-only' | 'project'
  readonly rights?: CallerRights | undefined
  /** The trace span of the call, for programs that report to OpenTelemetry. */
  readonly traceparent?: string | undefined
  /** The command's confinement if no sandbox confines it; undefined for a command that runs like this program. */
  readonly confinement?: Confinement | undefined
}

/**
 * One bash in its own process group. S1: stdin is closed; both outputs go through one pipe, in the order in which they
 * were written. S2: `ended` resolves when the shell has ended, even if processes that it started still hold the pipes.
 * S3: `end()` reaches everything that the shell started.
 */
export function startShellCommand(
  command: string,
  place: ShellPlace,
  { directory, access = 'project', rights, traceparent, confinement }: ShellStart,
): ShellCommand {
  const spool = place.spoolFolder === undefined ? undefined : new OutputSpool(place.spoolFolder, place.redact)
  const output = new BoundedOutput(place.limits.bashOutputCharacters, place.redact, (text) => spool?.write(text))
  const mark = randomUUID()
  const started = processScanStart()
  const { child, isConfined, confined } = spawnShell(prelude + command, {
    command,
    place,
    mark,
    directory,
    access,
    rights,
    traceparent,
    confinement,
  })
  const ended = endOf(child, output, { directory, limits: place.limits })
  if (child.pid === undefined) return { output, spool, ended: settled(ended, confined), isConfined, ...notStarted }
  let group: ProcessGroup = {
    groupId: child.pid,
    mark,
    knownBy: 'group',
    started,
    ...(confined !== undefined && { hasMonitor: true }),
  }
  const pipe = child.stdout ?? undefined
  place.processes.add(group, { command, pipe, isConfined })
  let isEnding = false
  return {
    output,
    spool,
    isConfined,
    groupId: child.pid,
    trace: `${child.pid} ${mark}`,
    pipe,
    ended: settled(ended, confined).then(async (end) => {
      expireMounts()
      if (!isEnding) await place.processes.release(group)
      return end
    }),
    end() {
      isEnding = true
      return place.processes.end(group)
    },
    unref() {
      child.unref()
      for (const each of pipesOf(child)) unref(each)
    },
    leaveDetached() {
      const { detached, rest } = place.processes.leaveDetached(group)
      group = rest
      return detached
    },
    leave: () => place.processes.leave(group),
  }
}

/** A confined command that may have had effects. */
interface ConfinedCommand {
  /** Resolves when none of the command's processes is running. */
  gone(): Promise<void>
  /** Returns the command's effects; call this once, after all of its processes have ended. */
  settle(): Pick<ShellEnd, 'aftermath' | 'trial'>
}

// Spec R-EBASH-5.
/**
 * Adds the effects of the command to its end; they are determined once all of its processes have ended. Never rejects.
 */
async function settled(ended: Promise<ShellEnd>, confined: ConfinedCommand | undefined): Promise<ShellEnd> {
  const end = await ended
  if (confined === undefined) return end
  const problems: string[] = []
  if (end.kind !== 'not started') await confined.gone().catch((thrown: unknown) => problems.push(messageOf(thrown)))
  const reported = asUnconfined(end)
  try {
    const [unsettled] = problems
    return { ...reported, ...confined.settle(), ...(unsettled !== undefined && { unsettled }) }
  } catch (thrown) {
    return { ...reported, unsettled: messageOf(thrown) }
  }
}

/**
 * Corrects the exit code of bubblewrap: it exits with 128 plus the signal if a signal ended the shell, which then has
 * not reported its directory.
 */
function asUnconfined(end: ShellEnd): ShellEnd {
  const { exitCode, directory } = end
  if (exitCode === null || exitCode <= 128 || directory !== undefined) return end
  const [signal] = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128) ?? []
  return signal === undefined ? end : { ...end, kind: 'killed', exitCode: null, detail: signal }
}

const notStarted = {
  groupId: undefined,
  trace: undefined,
  pipe: undefined,
  end: async () => undefined,
  unref: () => undefined,
  leaveDetached: () => [],
  leave: () => undefined,
} as const

interface ToSpawn {
  readonly command: string
  readonly place: ShellPlace
  readonly mark: string
  readonly directory: string
  readonly access: 'read-only' | 'project'
  readonly rights: CallerRights | undefined
  readonly traceparent: string | undefined
  readonly confinement: Confinement | undefined
}

/** @throws SandboxError for a command that cannot be confined; the command is not started. */
function spawnShell(
  script: string,
  { command, place, mark, directory, access, rights, traceparent, confinement }: ToSpawn,
): {
  readonly child: ChildProcess
  readonly isConfined: boolean
  /** Set for a command that may change the workspace: its effects are determined when it has ended. */
  readonly confined?: ConfinedCommand
} {
  const plain = {
    file: 'bash',
    args: ['-c', script],
    directory,
    env: {
      ...environmentOf(place, mark),
      ...(traceparent !== undefined && { TRACEPARENT: traceparent }),
      ...(isJudgedToRead(command, confinement) && hardenedEnvironment()),
    },
  }
  const own = ['ignore', 'pipe', 'pipe', 'pipe'] as const
  const { sandbox } = place
  if (sandbox !== undefined && !sandbox.excludes(command)) {
    const sandboxed = sandbox.sandboxed({ ...plain, firstDescriptor: own.length }, sandbox.describe(access, [], rights))
    return { child: spawnConfined(sandboxed, directory, own), isConfined: true }
  }
  if (confinement?.kind === 'trial') {
    const sandboxed = trialWallOf(place).confine({ ...plain, firstDescriptor: own.length }, confinement)
    return {
      child: spawnConfined(sandboxed, directory, own),
      isConfined: true,
      confined: { gone: () => sandboxed.gone(), settle: () => ({ trial: { effects: sandboxed.settle() } }) },
    }
  }
  if (confinement?.kind === 'edit') {
    const sandboxed = editWallOf(place).confine({ ...plain, firstDescriptor: own.length }, confinement)
    try {
      return {
        child: spawnConfined(sandboxed, directory, own),
        isConfined: true,
        confined: { gone: () => sandboxed.gone(), settle: () => ({ aftermath: sandboxed.settle() }) },
      }
    } catch (thrown) {
      sandboxed.settle()
      throw thrown
    }
  }
  if (confinement !== undefined) {
    const { confiner, diesWithUs } = confinerOf(place)
    const sandboxed = confiner.confine({ ...plain, firstDescriptor: own.length }, [directory], confinement)
    return { child: spawnConfined(sandboxed, directory, own), isConfined: diesWithUs }
  }
  const options = { cwd: directory, detached: true, env: plain.env, stdio: [...own] }
  return { child: spawn(plain.file, plain.args, options), isConfined: false }
}

// Spec R-EBASH-7.
/**
 * Whether a command is judged to only read. A command that may change the workspace also runs what its programs are
 * configured to run, such as git hooks: these are confined with the command.
 */
function isJudgedToRead(command: string, confinement: Confinement | undefined): boolean {
  return confinement === undefined ? isReadOnlyCommand(command) : isReading(confinement)
}

function isReading({ kind }: Confinement): boolean {
  return kind === 'read' || kind === 'look'
}

/**
 * Returns the confiner, created for the first command that needs it.
 * @throws SandboxError if nothing can confine commands; the command is not started.
 */
function confinerOf({ wall }: ShellPlace): { readonly confiner: Wall; readonly diesWithUs: boolean } {
  const means = wall?.means()
  if (wall === undefined || means === undefined || means.kind === 'none' || means.kind === 'off')
    throw new SandboxError(notConfinable)
  const { home, memory } = wall
  wall.readWall ??= new Wall({ means, home, memory })
  return { confiner: wall.readWall, diesWithUs: means.kind === 'bubblewrap' }
}

/** The same for commands that may change the workspace. */
function editWallOf({ wall }: ShellPlace): EditWall {
  const means = wall?.edits()
  if (wall === undefined || means?.kind !== 'bubblewrap') throw new SandboxError(notConfinable)
  const { home, keptFolders, stateFolder } = wall
  if (wall.editWall === undefined) {
    const caches = new ToolCaches(wall.cacheOptions(means.file))
    wall.editWall = new EditWall({ means, home, keptFolders, stateFolder, caches })
  }
  return wall.editWall
}

/** The same for trials. */
function trialWallOf({ wall }: ShellPlace): TrialWall {
  const means = wall?.trials()
  if (wall === undefined || means?.kind !== 'overlay') throw new SandboxError(notConfinable)
  wall.trialWall ??= new TrialWall({ means, home: wall.home, cacheFolder: wall.cacheFolder })
  return wall.trialWall
}

function spawnConfined(
  sandboxed: SandboxedCommand,
  directory: string,
  own: readonly ('ignore' | 'pipe')[],
): ChildProcess {
  let child: ChildProcess | undefined
  try {
    const stdio = [...own, ...sandboxed.descriptors]
    child = spawn(sandboxed.file, sandboxed.args, { cwd: directory, detached: true, env: sandboxed.env, stdio })
    return child
  } finally {
    sandboxed.started(child)
  }
}

const directoryDescriptor = 199

/**
 * On the first line, so that line numbers of bash match the model's text. The trap reports the directory also after
 * `exit`; a command that replaces the shell or sets its own EXIT trap does not change the directory. A job that is
 * killed while bash starts it still has the trap, and must report nothing.
 */
const reportDirectory = `((\${BASH_SUBSHELL:-0})) || builtin pwd -P >&${directoryDescriptor} 2>/dev/null`
const prelude = `exec 2>&1 ${directoryDescriptor}>&3 3>&-; trap '${reportDirectory}' EXIT; unset CDPATH; `

function environmentOf(place: ShellPlace, mark: string): Record<string, string | undefined> {
  const outer = place.env[markVariable]
  return {
    ...place.env,
    // No user can use an editor here.
    GIT_EDITOR: 'true',
    CLAUDECODE: '1',
    [markVariable]: outer === undefined ? mark : `${outer},${mark}`,
  }
}

function endOf(
  child: ChildProcess,
  output: BoundedOutput,
  { directory: folder, limits }: { readonly directory: string; readonly limits: Limits },
): Promise<ShellEnd> {
  const pipes = pipesOf(child)
  const directoryPipe = child.stdio[3]
  let directory = ''
  const activity = { at: performance.now() }
  for (const pipe of pipes) {
    const decoder = new StringDecoder('utf8')
    pipe.on('data', (chunk: Buffer) => {
      activity.at = performance.now()
      if (pipe === directoryPipe) directory = (directory + decoder.write(chunk)).slice(0, 8192)
      else output.append(decoder.write(chunk))
    })
    // Errors of a pipe are irrelevant: the process reports how the command ended.
    pipe.on('error', () => undefined)
  }
  return new Promise((resolve) => {
    child.once('error', (error) =>
      resolve({
        kind: 'not started',
        exitCode: null,
        detail: whyNotStarted(error, folder),
        directory: undefined,
      }),
    )
    child.once('exit', (exitCode, signal) => {
      const settle = (): void => {
        // S2: processes that still write no longer have a reader, and do not keep this program running.
        for (const pipe of pipes) unref(pipe)
        resolve({
          kind: exitCode === null ? 'killed' : 'exited',
          exitCode,
          detail: signal ?? undefined,
          directory: directory.endsWith('\n') ? directory.slice(0, -1) : undefined,
        })
      }
      whenQuiet(child, activity, limits.drainQuietMs, settle)
    })
  })
}

function pipesOf(child: ChildProcess): readonly Readable[] {
  return child.stdio.filter((pipe): pipe is Readable => pipe !== null && pipe !== undefined && 'read' in pipe)
}

/** Pipes of children are sockets, which the types do not say. */
function unref(pipe: Readable): void {
  if ('unref' in pipe && typeof pipe.unref === 'function') pipe.unref()
}

const longestDrainMs = 1000
const lookMs = 10

/**
 * Calls back when all pipes are closed, or have been silent for some time, or after a second at the latest. Counts
 * checks in addition to time: between two checks the pipes were read, even if this program was busy.
 */
function whenQuiet(child: ChildProcess, activity: { readonly at: number }, quietMs: number, settle: () => void): void {
  const start = performance.now()
  let last = activity.at
  let idleLooks = 0
  const done = (): void => {
    clearInterval(timer)
    child.off('close', done)
    settle()
  }
  const timer = setInterval(() => {
    idleLooks = activity.at === last ? idleLooks + 1 : 0
    last = activity.at
    if (idleLooks * lookMs >= quietMs || performance.now() - start >= longestDrainMs) done()
  }, lookMs)
  child.once('close', done)
}
