import { type CallerRights, messageOf } from '@halting/core/adapters'
import { onProcessExit, offProcessExit } from '../process-exit.ts'
import { type ChildProcess, execFile } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { matchesCommand } from '../permissions/matches-command.ts'
import { bubblewrapArguments, type BubblewrapMeans } from './bubblewrap.ts'
import { type DeniedPatterns, describe, type DescribedSandbox, pathOf } from './describe.ts'
import type { PlainCommand, SandboxDescription } from './description.ts'
import { isGitFolder } from './git-places.ts'
import { exists } from './on-disk.ts'
import { type ProxyOptions, serveProxy } from './proxy.ts'
import { findBubblewrap } from './find-bubblewrap.ts'
import type { Environment } from '../files/paths.ts'
import { packagesOf } from './own-packages.ts'
import { once } from './once.ts'
import { Placeholders } from './placeholders.ts'
import { removeTree } from './remove-tree.ts'
import { SandboxError } from './sandbox-error.ts'
import type { SandboxSettings } from './sandbox-settings.ts'
import { seatbeltArguments } from './seatbelt.ts'
import { seccompFilter } from './seccomp.ts'
import { openFilter } from './unnamed-file.ts'
import { isSecretVariable } from './secret-variables.ts'

/** Options of a sandbox. */
export interface SandboxOptions {
  /** Working directory. */
  readonly cwd: string
  /** Further folders of the workspace. */
  readonly directories: readonly string[]
  /** The person's own folder. */
  readonly home: string
  /** The setting `sandbox`. */
  readonly settings: SandboxSettings
  /** Files that the program runs outside the sandbox, in addition to its own: commands cannot change their packages. */
  readonly programFiles?: readonly string[]
  /** Folders that commands cannot change, wherever they are. */
  readonly ownFolders?: readonly string[]
  /** The files of the present deny rules, as rules may be added during a session. */
  readonly denied?: (rights?: CallerRights) => DeniedPatterns
  /** Domains that are blocked now, in addition to those of the settings. */
  readonly deniedDomains?: () => readonly string[]
  /** Called with the path of a control file that was created while commands ran. */
  readonly onMade?: (path: string) => void
  /** For tests: how names are resolved and connections are opened. */
  readonly proxy?: Pick<ProxyOptions, 'resolve' | 'open' | 'onRefused'>
}

/** How to start a command in the sandbox. */
export interface SandboxedCommand {
  /** Path of the program. */
  readonly file: string
  /** Its arguments. */
  readonly args: readonly string[]
  /** Its environment. */
  readonly env: Environment
  /** Entries for `stdio` of `spawn`, after those of the caller, from `firstDescriptor` on. */
  readonly descriptors: readonly (number | 'ipc' | 'ignore')[]
  /** Call this with the child process, or without one if it could not be started. */
  started(child?: ChildProcess): void
}

/** A command to run in the sandbox. */
export interface SandboxCommand extends PlainCommand {
  /** The environment of the command. */
  readonly env: Environment
  /** The first descriptor that the caller does not use. */
  readonly firstDescriptor: number
}

/**
 * Confines commands, by bubblewrap on Linux and sandbox-exec on macOS.
 *
 * H1: a command that cannot be confined does not run; it never falls back to running unconfined.
 * H2: all processes of a command end with it.
 * H3: placeholders that prevent the creation of a path are removed when no command runs.
 */
export interface Sandbox {
  /** Whether a command runs in the sandbox without approval. */
  holds(command: string): boolean
  /** Whether a command runs outside, because of `sandbox.excludedCommands`. */
  excludes(command: string): boolean
  /**
   * @param readable Files that can be read in addition to those of the settings.
   * @param writable Patterns of deny rules for writing that do not apply, as they are written, for example of protected files during a check.
   */
  describe(
    access: 'read-only' | 'project',
    readable?: readonly string[],
    rights?: CallerRights,
    writable?: ReadonlySet<string>,
  ): DescribedSandbox
  /** @throws SandboxError */
  sandboxed(command: SandboxCommand, described: DescribedSandbox): SandboxedCommand
  /** Stops the proxy, and removes what was created for commands. */
  dispose(): void
}

const runFile = promisify(execFile)
/** A bwrap that does not answer is unusable, and the program does not wait for it. */
const tryMs = 20_000

/**
 * Opens the sandbox in which commands run.
 * @throws SandboxError if commands cannot be confined: it says what is missing and what to install.
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const packages = packagesOf([fileURLToPath(import.meta.url), process.execPath, ...(options.programFiles ?? [])])
  if (process.platform === 'darwin') return new SystemSandbox(options, { kind: 'seatbelt' }, packages)
  if (process.platform !== 'linux') {
    throw new SandboxError(
      'The sandbox needs Linux (bubblewrap) or macOS. On Windows use WSL2, or leave --sandbox out.',
    )
  }
  const file = findBubblewrap(process.env['PATH'] ?? '', [options.cwd, ...options.directories, ...writableOf(options)])
  const version = await bubblewrapVersion(file)
  const means: BubblewrapMeans = { filterDescriptor: undefined, canDisableUserNamespaces: version >= 0.008 }
  const sandbox = new SystemSandbox(options, { kind: 'bubblewrap', file, means }, packages)
  try {
    await sandbox.check()
  } catch (thrown) {
    sandbox.dispose()
    throw thrown
  }
  return sandbox
}

function writableOf({ cwd, home, settings }: SandboxOptions): readonly string[] {
  return settings.allowWrite.map((path) => pathOf(path, { cwd, home }))
}

/** The version as a number: `0.8.0` as 0.008. */
async function bubblewrapVersion(file: string): Promise<number> {
  try {
    const { stdout } = await runFile(file, ['--version'], { timeout: tryMs })
    const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(stdout) ?? []).slice(1).map(Number)
    return major + minor / 1000
  } catch (thrown) {
    throw new SandboxError(
      `${file} does not run: ${messageOf(thrown)}. Reinstall bubblewrap. Nothing was run without it.`,
    )
  }
}

type SandboxMeans =
  | { readonly kind: 'seatbelt' }
  | { readonly kind: 'bubblewrap'; readonly file: string; readonly means: BubblewrapMeans }

class SystemSandbox implements Sandbox {
  readonly #options: SandboxOptions
  readonly #means: SandboxMeans
  readonly #keptFolders: readonly string[]
  /** Belongs to this session; `tmp` in it is /tmp of commands. */
  readonly #folder: string
  readonly #temporary: string
  readonly #proxy: ProxyOptions
  readonly #placeholders = new Placeholders()
  /** Folders that were not repositories when they were first checked, and git folders without a `commondir`. */
  readonly #plain = new Set<string>()
  readonly #withoutCommon = new Set<string>()
  readonly #unkept = new Set<string>()
  #hostProxy: Server | undefined
  #hostProxyPort: number | undefined
  #running = 0
  readonly #removeAtExit = (): void => this.#remove()

  constructor(options: SandboxOptions, means: SandboxMeans, packages: readonly string[]) {
    this.#options = options
    this.#keptFolders = [...packages, ...(options.ownFolders ?? [])]
    this.#means = means
    this.#folder = realpathSync(mkdtempSync(join(tmpdir(), 'halting-sandbox-')))
    this.#temporary = join(this.#folder, 'tmp')
    mkdirSync(this.#temporary, { mode: 0o700 })
    const { allowedDomains: allowed, deniedDomains: denied } = options.settings
    const allDenied = (): readonly string[] => [...denied, ...(options.deniedDomains?.() ?? [])]
    const domains = {
      allowed,
      get denied() {
        return allDenied()
      },
    }
    this.#proxy = { domains, ...options.proxy }
    onProcessExit(this.#removeAtExit)
    if (means.kind === 'seatbelt' && allowed.length > 0) this.#openHostProxy()
  }

  holds(command: string): boolean {
    return this.#options.settings.autoAllowBashIfSandboxed && !this.excludes(command)
  }

  excludes(command: string): boolean {
    // A single command only: another command joined to it would run outside too.
    if (/[;&|<>()`$\n\r{}]/.test(command)) return false
    return this.#options.settings.excludedCommands.some((pattern) => matchesCommand(pattern, command.trim()))
  }

  describe(
    access: 'read-only' | 'project',
    readable: readonly string[] = [],
    rights?: CallerRights,
    writable: ReadonlySet<string> = new Set(),
  ): DescribedSandbox {
    const { cwd, directories, home, settings, denied } = this.#options
    const { read, edit } = denied?.(rights) ?? { read: [], edit: [] }
    const patterns = { read, edit: edit.filter(({ source }) => source === undefined || !writable.has(source)) }
    const [temporary, plain] = [this.#temporary, this.#plain]
    return describe({
      cwd,
      directories,
      home,
      settings,
      access,
      temporary,
      denied: patterns,
      readable,
      plain,
      keptFolders: this.#keptFolders,
    })
  }

  sandboxed(command: SandboxCommand, described: DescribedSandbox): SandboxedCommand {
    const { description } = described
    if (this.#means.kind === 'bubblewrap') this.#placeholders.create(description.missing, described.made)
    const confined =
      this.#means.kind === 'seatbelt'
        ? this.#bySeatbelt(command, description)
        : this.#byBubblewrap(command, description, this.#means)
    for (const folder of described.plain) this.#plain.add(folder)
    for (const folder of described.gitFolders) this.#withoutCommon.add(folder)
    for (const path of described.unkept) this.#unkept.add(path)
    this.#running += 1
    const release = once(() => this.#release())
    return {
      ...confined,
      started: (child) => {
        for (const descriptor of confined.descriptors) if (typeof descriptor === 'number') closeSync(descriptor)
        if (child?.pid === undefined) return release()
        child.once('exit', release)
        if (confined.descriptors.includes('ipc')) serveChild(child, this.#proxy)
      },
    }
  }

  /** Runs a command that does nothing, in the way real commands run. */
  async check(): Promise<void> {
    const description: SandboxDescription = {
      writable: [],
      readOnly: [],
      pinned: [],
      missing: [],
      masked: [],
      readable: [],
      denied: [],
      temporary: this.#temporary,
      network: 'none',
      unixSockets: true,
    }
    const command = { file: 'true', args: [], directory: '/' }
    const file = this.#means.kind === 'bubblewrap' ? this.#means.file : 'bwrap'
    const args = bubblewrapArguments(description, command, {
      filterDescriptor: undefined,
      canDisableUserNamespaces: false,
    })
    try {
      await runFile(file, [...args], { timeout: tryMs })
    } catch (thrown) {
      const reason = thrown instanceof Error && 'stderr' in thrown ? String(thrown.stderr).trim() : String(thrown)
      throw new SandboxError(
        `bubblewrap is installed but cannot create a sandbox: ${reason}. It needs user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), an AppArmor profile for bwrap (Ubuntu 24.04: apt install apparmor-profiles), or a container that allows them. Nothing was run without it.`,
      )
    }
  }

  dispose(): void {
    this.#hostProxy?.close()
    offProcessExit(this.#removeAtExit)
    this.#remove()
  }

  #byBubblewrap(
    command: SandboxCommand,
    description: SandboxDescription,
    { file, means }: Extract<SandboxMeans, { readonly kind: 'bubblewrap' }>,
  ): DescribedParts {
    const filter = seccompFilter(process.arch, { profile: 'project', unixSockets: description.unixSockets })
    const hasProxy = description.network === 'proxy'
    const inner = hasProxy
      ? bridgedCommand(command, command.firstDescriptor + 1)
      : { file: command.file, args: command.args, directory: command.directory }
    const args = bubblewrapArguments(description, inner, {
      ...means,
      filterDescriptor: filter === undefined ? undefined : command.firstDescriptor,
    })
    return {
      file,
      args,
      env: this.#environment(command.env, hasProxy ? proxyPort : undefined),
      descriptors: [
        filter === undefined ? 'ignore' : openFilter(filter, this.#folder),
        ...(hasProxy ? (['ipc'] as const) : []),
      ],
    }
  }

  #bySeatbelt(command: SandboxCommand, description: SandboxDescription): DescribedParts {
    const port = description.network === 'proxy' ? this.#hostProxyPort : undefined
    return {
      file: '/usr/bin/sandbox-exec',
      args: seatbeltArguments(description, command, port),
      env: this.#environment(command.env, port),
      descriptors: [],
    }
  }

  #environment(env: Environment, port: number | undefined): Environment {
    const visible = Object.entries(env).filter(([name]) => !isSecretVariable(name))
    const temporary = { TMPDIR: this.#temporary, TMP: this.#temporary, TEMP: this.#temporary }
    return { ...Object.fromEntries(visible), ...temporary, ...(port !== undefined && proxyVariables(port)) }
  }

  #release(): void {
    this.#running -= 1
    this.#restore()
    this.#tellMade()
    if (this.#running === 0) this.#placeholders.remove()
  }

  /** Removes files that would redirect git and whose creation could not be prevented. */
  #restore(): void {
    const force = { recursive: true, force: true }
    for (const folder of this.#withoutCommon) rmSync(join(folder, 'commondir'), force)
    for (const folder of this.#plain) if (isGitFolder(folder)) rmSync(join(folder, 'HEAD'), force)
  }

  #tellMade(): void {
    for (const path of this.#unkept) {
      if (!exists(path)) continue
      // From now on the file exists and is read-only.
      this.#unkept.delete(path)
      this.#options.onMade?.(path)
    }
  }

  #remove(): void {
    this.#restore()
    this.#placeholders.remove()
    removeTree(this.#folder)
  }

  #openHostProxy(): void {
    const server = new Server()
    serveProxy(server, this.#proxy)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      this.#hostProxyPort = typeof address === 'object' ? address?.port : undefined
    })
    server.unref()
    this.#hostProxy = server
  }
}

type DescribedParts = Omit<SandboxedCommand, 'started'>

function bridgedCommand(command: SandboxCommand, channel: number): PlainCommand {
  const [file = '', ...args] = bridged(process.execPath, channel, command.file, command.args)
  return { file, args, directory: command.directory }
}

/** The child passes the listening socket; from then on this program serves it. */
function serveChild(child: ChildProcess, proxy: ProxyOptions): void {
  child.once('message', (_message: unknown, handle: unknown) => {
    // The channel is no longer needed. Messages of a command over it are ignored.
    if (child.connected) child.disconnect()
    if (!(handle instanceof Server)) return
    const clients = new Set<Socket>()
    handle.on('connection', (client: Socket) => {
      clients.add(client)
      client.once('close', () => clients.delete(client))
    })
    serveProxy(handle, proxy)
    handle.unref()
    child.once('exit', () => {
      handle.close()
      for (const client of clients) client.destroy()
    })
  })
  child.on('error', () => undefined)
}

/** The port of the proxy inside the sandbox. The sandbox has its own loopback interface, so the port is always free. */
const proxyPort = 3128

/**
 * Runs in the sandbox before the command: it listens on the loopback interface of the sandbox and passes the listening socket to this program over
 * the channel between parent and child. Nothing of it remains in the sandbox, and no socket of the host is visible there.
 */
const listen = `const s=require('net').createServer();s.listen(${proxyPort},'127.0.0.1',()=>process.send('proxy',s,()=>process.exit()))`

/** A shell that connects the proxy and then becomes the command. `channel` is the descriptor of the channel. */
function bridged(node: string, channel: number, file: string, args: readonly string[]): readonly string[] {
  const script = [
    `NODE_OPTIONS= "$0" -e "$1" >/dev/null 2>&1 || echo 'halting: the connection to the allowed domains could not be opened' >&2`,
    `exec ${channel}>&-`,
    'unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE',
    'shift',
    'exec "$@"',
  ].join('\n')
  return ['bash', '-c', script, node, listen, file, ...args]
}

/** The variables that name the proxy for programs. */
function proxyVariables(port: number): Readonly<Record<string, string>> {
  const url = `http://127.0.0.1:${port}`
  const own = 'localhost,127.0.0.1,::1'
  return Object.fromEntries([
    ...['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [
      [name, url],
      [name.toUpperCase(), url],
    ]),
    ['no_proxy', own],
    ['NO_PROXY', own],
  ])
}
