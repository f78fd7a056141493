import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createPermissions, sandboxSettingsOf } from '@halting/policy'
import { Workspace, createBashTool } from '@halting/agent'
import { openSandbox } from '@halting/agent/sandbox'
import type { JsonObject } from '@halting/core'
import { onTestFinished } from 'vitest'
import { runTool } from '../support/harness.ts'

export const secret = 'the-secret-that-must-stay'
export const isBubblewrapThere =
  process.platform === 'linux' && spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true']).status === 0
export const isPythonThere = spawnSync('python3', ['--version']).status === 0
export const isRoot = process.getuid?.() === 0

/** A miniature machine: a project, files next to it, a home with keys, and processes of the host. */
export interface World {
  readonly project: string
  readonly outside: string
  readonly home: string
  readonly victim: ChildProcess
  /** The argument of `sleep` in this world: parallel tests find their remaining processes by it. */
  readonly nap: string
  /** Where servers of the host listen that give the secret to any client. */
  readonly port: number
  readonly udpPort: number
  /** What the UDP server received. */
  readonly received: () => string
}

/**
 * Not below `/tmp`, which the sandbox replaces: the outside must be visible. Nor in this repository, which git would
 * find above it.
 */
export function folderInSight(): string {
  const base = join(homedir(), '.cache/halting-tests')
  mkdirSync(base, { recursive: true })
  const folder = realpathSync(mkdtempSync(join(base, 's-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function makeWorld(): Promise<World> {
  const base = folderInSight()
  const [project, outside, home] = ['project', 'outside', 'home'].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ]
  for (const folder of [join(project, 'secrets'), outside, join(home, '.ssh'), join(home, '.halting')])
    mkdirSync(folder, { recursive: true })
  for (const file of [join(project, '.env'), join(project, 'secrets/key'), join(home, '.ssh/id'), join(home, '.netrc')])
    writeFileSync(file, `${secret}\n`)
  for (const file of [join(outside, 'target'), join(project, 'file'), join(home, '.bashrc')])
    writeFileSync(file, 'whole\n')
  const git = (cwd: string, ...args: string[]): void => void execFileSync('git', args, { cwd, stdio: 'ignore' })
  git(project, 'init', '-q')
  mkdirSync(join(project, 'packages/inner'), { recursive: true })
  git(join(project, 'packages/inner'), 'init', '-q')
  const victim = spawn('sleep', ['600'], { cwd: outside, env: { ...process.env, VICTIM: secret }, stdio: 'ignore' })
  onTestFinished(() => void victim.kill('SIGKILL'))
  const give = (server: Server, where: object | string): Promise<Server> =>
    new Promise((resolve) => server.listen(where, () => resolve(server)))
  const giver = (): Server => createServer((socket) => void socket.on('error', () => undefined).end(`${secret}\n`))
  const servers = await Promise.all([
    give(giver(), { port: 0, host: '127.0.0.1' }),
    // A socket name has at most 107 characters; relative ones would work only for clients.
    give(giver(), join(outside, 's')),
    give(giver(), join(project, 's')),
  ])
  onTestFinished(() => void servers.map((server) => server.close()))
  let received = ''
  const udp = createSocket('udp4', (message) => {
    received += message.toString()
  })
  await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void udp.close())
  const address = servers[0]?.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const nap = `${victim.pid}.5`
  onTestFinished(() => endNaps(nap))
  return { project, outside, home, victim, nap, port, udpPort: udp.address().port, received: () => received }
}

export interface Shell {
  readonly workspace: Workspace
  readonly run: (command: string) => Promise<{ readonly text: string; readonly isError: boolean }>
}

/** The Bash tool in the project of a world, inside the sandbox or not. */
export async function shellIn(
  world: World,
  held: 'held' | 'free',
  settings: JsonObject = {},
  proxy: NonNullable<Parameters<typeof openSandbox>[0]['proxy']> = {},
): Promise<Shell> {
  const workspace = new Workspace({ cwd: world.project, env: environmentIn(world), limits: { bashTimeoutMs: 20_000 } })
  onTestFinished(() => workspace.dispose())
  if (held === 'held') workspace.sandbox = await sandboxIn(world, settings, proxy)
  const bash = createBashTool(workspace)
  return { workspace, run: (command) => runTool(bash, { command }) }
}

/** The environment of commands in a world, including keys of the user. */
export function environmentIn({ project, outside, home, victim, nap, port, udpPort }: World): NodeJS.ProcessEnv {
  const numbers = { PORT: String(port), UDP: String(udpPort), VICTIM_PID: String(victim.pid), NAP: nap }
  const names = { OUTSIDE: outside, ...numbers }
  const keys = { ANTHROPIC_API_KEY: secret, GH_TOKEN: secret, SSH_AUTH_SOCK: join(outside, 's') }
  return { PATH: process.env['PATH'], HOME: home, PROJECT: project, ...names, ...keys }
}

/** The sandbox around the project of a world, in which files are denied. */
export function sandboxIn(
  { project, home }: World,
  settings: JsonObject = {},
  proxy: NonNullable<Parameters<typeof openSandbox>[0]['proxy']> = {},
): ReturnType<typeof openSandbox> {
  const deny = ['Read(.env)', 'Read(./secrets/**)', 'Edit(./packages/kept)']
  const permissions = createPermissions({ cwd: project, mode: 'bypassPermissions', deny })
  return openSandbox({
    cwd: project,
    directories: [project],
    home,
    settings: sandboxSettingsOf([{ enabled: true }, settings]),
    denied: () => permissions.deniedPlaces(),
    proxy,
  })
}

export function contentOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** Process ids of a world's sleeping processes. */
export function napping({ nap }: Pick<World, 'nap'>): readonly number[] {
  const { stdout } = spawnSync('pgrep', ['-fx', `sleep ${nap.replace('.', '[.]')}`], { encoding: 'utf8' })
  return stdout.split('\n').filter(Boolean).map(Number)
}

export function endNaps(nap: string): void {
  for (const id of napping({ nap })) {
    try {
      process.kill(id, 'SIGKILL')
    } catch {
      // It ended by itself since it was found.
    }
  }
}
