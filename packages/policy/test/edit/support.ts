import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { EditConfinement } from '../../src/sandbox/confinement.ts'
import type { CommandAftermath } from '../../src/sandbox/edit-command.ts'
import { detectEdits } from '../../src/sandbox/edit-detect.ts'
import type { EditMeans } from '../../src/sandbox/edit-means.ts'
import { EditWall, type EditWallOptions } from '../../src/sandbox/edit-wall.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type Bubblewrap = Extract<EditMeans, { readonly kind: 'bubblewrap' }>

const tried = mkdtempSync(join(tmpdir(), 'halting-edit-test-'))
const found = detectEdits({ path: process.env['PATH'] ?? '', directories: [tried], home: '/nowhere' })
rmSync(tried, { recursive: true })
/** Undefined on machines that cannot confine commands to a workspace: these tests are skipped there. */
export const means: Bubblewrap | undefined = found.kind === 'bubblewrap' ? found : undefined

/** A project, a home and a wall, each in folders of their own. */
export interface Place {
  readonly wall: EditWall
  readonly project: string
  readonly home: string
  readonly state: string
  /** Writes files below the project. */
  readonly write: (files: Readonly<Record<string, string>>) => void
  readonly run: (
    line: string,
    confinement?: Partial<EditConfinement> & { readonly env?: Record<string, string> },
  ) => Promise<Ran>
}

interface Ran {
  readonly output: string
  readonly exitCode: number | null
  readonly aftermath: CommandAftermath
}

export function place(options: Partial<EditWallOptions> = {}): Place {
  if (means === undefined) throw new Error('commands cannot be confined here')
  const folder = temporaryFolder()
  const [project, home, state] = ['project', 'home', 'state'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const one of [project, home]) mkdirSync(one)
  const wall = new EditWall({ means, home, keptFolders: [], stateFolder: state, ...options })
  onTestFinished(() => wall.dispose())
  return {
    wall,
    project,
    home,
    state,
    write(files) {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(project, name)), { recursive: true })
        writeFileSync(join(project, name), text)
      }
    },
    run: (line, { env, ...confinement } = {}) =>
      runLine(line, wall, {
        project,
        env: { ...process.env, HOME: home, ...env },
        confinement,
      }),
  }
}

export function runLine(
  line: string,
  wall: EditWall,
  options: {
    readonly project: string
    readonly env: Readonly<Record<string, string | undefined>>
    readonly confinement?: Partial<EditConfinement>
  },
): Promise<Ran> {
  const { project, env, confinement } = options
  const plain = { file: 'bash', args: ['-c', `exec 2>&1; ${line}`], directory: project, env, firstDescriptor: 3 }
  const started = wall.confine(plain, {
    kind: 'edit',
    directories: [project],
    readable: [],
    denied: { read: [], edit: [] },
    writesGit: false,
    ...confinement,
  })
  const child = spawn(started.file, started.args, {
    cwd: project,
    env: started.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...started.descriptors],
  })
  started.started(child)
  let output = ''
  for (const pipe of [child.stdout, child.stderr])
    pipe?.on('data', (chunk: Buffer) => (output += chunk.toString('latin1')))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => resolve({ output, exitCode, aftermath: started.settle() }))
  })
}
