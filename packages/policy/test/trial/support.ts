import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { TrialWall } from '../../src/sandbox/trial-wall.ts'
import { detectTrials } from '../../src/sandbox/trial-means.ts'

const found = detectTrials({ path: process.env['PATH'] ?? '', directories: [], home: '/nowhere' })

/** What tries commands on this machine; undefined if nothing does. */
export const means = found.kind === 'overlay' ? found : undefined

export interface Tried {
  readonly output: string
  readonly exitCode: number | null
  /** Why it must run again; undefined if it had no effects. */
  readonly why: string | undefined
}

export interface Project {
  readonly cwd: string
  readonly home: string
  readonly wall: TrialWall
}

/** A project with a home next to it, and its trials. */
export function openProject(): Project {
  if (means === undefined) throw new Error('nothing tries commands here')
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-test-')))
  const [cwd, home] = [join(root, 'project'), join(root, 'home')]
  for (const folder of [cwd, home]) mkdirSync(folder)
  const wall = new TrialWall({ means, home, cacheFolder: join(root, 'caches') })
  onTestFinished(() => {
    wall.dispose()
    rmSync(root, { recursive: true, force: true })
  })
  return { cwd, home, wall }
}

/** Runs a line as the tool does: stdout and stderr are merged, stdin is empty. */
export function runLine({ cwd, home }: Pick<Project, 'cwd' | 'home'>, line: string): Promise<Tried> {
  return ended(spawn('bash', ['-c', script(line)], { cwd, env: environment(home), stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** Tries a line. `begun` is called with the process. */
export async function tryLine(
  { cwd, home, wall }: Project,
  line: string,
  begun: (pid: number) => void = () => undefined,
): Promise<Tried> {
  const tried = wall.confine(
    { file: 'bash', args: ['-c', script(line)], directory: cwd, env: environment(home), firstDescriptor: 3 },
    { kind: 'trial', directories: [cwd], readable: [], denied: { read: [], edit: [] } },
  )
  const stdio = ['ignore', 'pipe', 'pipe', ...tried.descriptors] as const
  const child = spawn(tried.file, tried.args, { cwd, env: tried.env, detached: true, stdio: [...stdio] })
  tried.started(child)
  if (child.pid !== undefined) begun(child.pid)
  const end = await ended(child)
  await tried.gone()
  return { ...end, why: tried.settle() }
}

function script(line: string): string {
  return `exec 2>&1; ${line}`
}

function environment(home: string): NodeJS.ProcessEnv {
  return { ...process.env, HOME: home }
}

function ended(child: ReturnType<typeof spawn>): Promise<Tried> {
  let output = ''
  for (const pipe of [child.stdout, child.stderr])
    pipe?.on('data', (chunk: Buffer) => (output += chunk.toString('latin1')))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => resolve({ output, exitCode, why: undefined }))
  })
}
