import { execFileSync } from 'node:child_process'
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentState } from '@halting/core'
import { createCodingTools, FileCheckpoints, SessionFiles, Workspace, type CheckpointOptions } from '@halting/agent'
import { toolNamed } from './harness.ts'

/** A project in which an agent works, and its checkpoints. */
export interface Project {
  readonly cwd: string
  readonly folder: string
  readonly files: SessionFiles
  /** Runs a tool in a run with this id. */
  readonly use: (run: string, name: string, input: object) => Promise<string>
  /** A change by someone else. */
  readonly sh: (command: string) => void
  /** Everything in it, except the repository's own files. */
  readonly tree: () => ReadonlyMap<string, string>
  readonly remove: () => void
}

export function openProject(kind: 'git' | 'folder', options: Partial<CheckpointOptions> = {}): Project {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'halting-undo-')))
  const [cwd, folder] = [join(base, 'project'), join(base, 'kept/files')]
  execFileSync('mkdir', ['-p', cwd])
  const sh = (command: string): void => {
    execFileSync('bash', ['-c', command], { cwd, stdio: 'ignore', env: environment })
  }
  if (kind === 'git') sh('git init -q && git config user.email a@b.c && git config user.name a')
  const checkpoints = new FileCheckpoints({ folder, cwd, env: environment, ...options })
  const workspace = new Workspace({ cwd, env: environment, checkpoints })
  const offered = createCodingTools(workspace)
  const patcher = toolNamed(createCodingTools(workspace, { toolProfile: 'codex' }), 'apply_patch')
  const tools = [...offered, patcher]
  let calls = 0
  return {
    cwd,
    folder,
    files: new SessionFiles(folder),
    async use(run, name, input) {
      const call = `call_${++calls}`
      const context = {
        callId: call,
        toolName: name,
        idempotencyKey: `session/${run}/tool:${calls}:0:${call}`,
        signal: new AbortController().signal,
        state: AgentState.empty(),
        progress: () => undefined,
      }
      // The tools read only the conversation of the run, which is empty here; the input is what the tool accepts.
      const output = await toolNamed(tools, name).execute(input as never, context)
      return typeof output === 'string' ? output : JSON.stringify(output.content)
    },
    sh,
    tree: () => treeOf(cwd),
    remove: () => {
      execFileSync('chmod', ['-R', 'u+rwX', base])
      // A command left running may write it meanwhile.
      rmSync(base, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

const environment = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' }

/** Files with mode and content, links with targets, folders. */
function treeOf(root: string, below = ''): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const name of readdirSync(join(root, below)).toSorted()) {
    if (name === '.git') continue
    const path = join(below, name)
    const stats = lstatSync(join(root, path))
    if (stats.isSymbolicLink()) found.set(path, `link ${readlinkSync(join(root, path))}`)
    else if (stats.isDirectory()) {
      found.set(path, 'folder')
      for (const [inner, what] of treeOf(root, path)) found.set(inner, what)
    } else
      found.set(path, `file ${(stats.mode & 0o777).toString(8)} ${readFileSync(join(root, path)).toString('latin1')}`)
  }
  return found
}
