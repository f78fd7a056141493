import { spawnSync } from 'node:child_process'
import { platform } from 'node:os'
import { ripgrepPath } from '@halting/agent'
import { wallSummary } from '@halting/policy'
import { wallOf } from '../session/wall.ts'
import type { Finding, Patient } from './finding.ts'

/** Node and the programs that tools use. */
export async function programFindings(patient: Patient): Promise<readonly Finding[]> {
  return [node(), await ripgrep(), git(patient), confinement(patient), sandbox(patient)]
}

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isEnough = major > 20 || (major === 20 && minor >= 19)
  if (isEnough) return { what: 'node', state: 'good', says: process.version }
  return { what: 'node', state: 'broken', says: process.version, todo: 'Install Node 20.19 or a later one.' }
}

async function ripgrep(): Promise<Finding> {
  const path = await ripgrepPath()
  const version = path === undefined ? undefined : versionOf(path, process.cwd())
  if (version !== undefined) return { what: 'ripgrep', state: 'good', says: version }
  return {
    what: 'ripgrep',
    state: 'note',
    says: 'not there for this platform: the tools Grep and Glob give errors',
    todo: 'Install halting again with its dependencies (@vscode/ripgrep), or let the model search with Bash.',
  }
}

function git({ cwd }: Patient): Finding {
  const version = versionOf('git', cwd)
  if (version === undefined) {
    return {
      what: 'git',
      state: 'note',
      says: 'not found',
      todo: 'Install git, so that changes can be looked at and undone.',
    }
  }
  const { status, stdout } = spawnSync('git', ['rev-parse', '--show-toplevel'], { cwd, encoding: 'utf8' })
  if (status === 0) return { what: 'git', state: 'good', says: `${version}; ${stdout.trim()}` }
  return {
    what: 'git',
    state: 'note',
    says: `${version}; ${cwd} is in no repository`,
    todo: 'git init, so that changes can be looked at and undone.',
  }
}

/** What confines commands that run because they only read. */
function confinement(patient: Patient): Finding {
  const means = wallOf(patient).means()
  const says = wallSummary(means)
  if (means.kind !== 'none') return { what: 'confinement', state: 'good', says }
  return {
    what: 'confinement',
    state: 'note',
    says,
    todo: 'Install perl (with a kernel that has Landlock) or bubblewrap, such as by apt install bubblewrap.',
  }
}

/** Whether there is what `--sandbox` needs. */
function sandbox({ cwd }: Patient): Finding {
  const program = platform() === 'darwin' ? 'sandbox-exec' : 'bwrap'
  const isThere = platform() === 'darwin' || versionOf(program, cwd) !== undefined
  return {
    what: 'sandbox',
    ...(isThere
      ? ({ state: 'good', says: `${program} is there, for --sandbox` } as const)
      : ({
          state: 'note',
          says: `${program} is not there, so --sandbox cannot be used`,
          todo: 'Install bubblewrap, such as by apt install bubblewrap.',
        } as const)),
  }
}

function versionOf(program: string, cwd: string): string | undefined {
  const { status, stdout } = spawnSync(program, ['--version'], { cwd, encoding: 'utf8', timeout: 5_000 })
  return status === 0 ? stdout.split('\n')[0]?.trim() : undefined
}
